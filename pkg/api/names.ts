const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const MAX_LENGTH = 253;
const FORM =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/**
 * What is wrong with `name` as the name of a catalog, in the API server's words; nothing for a name that can stand in a path.
 * @see k8s.io/apimachinery v0.36 pkg/util/validation, IsDNS1123Subdomain
 */
export function catalogNameProblems(name: string): string[] {
  const problems: string[] = [];
  if (Buffer.byteLength(name) > MAX_LENGTH) problems.push(`must be no more than ${MAX_LENGTH} characters`);
  if (!NAME.test(name)) problems.push(FORM);
  return problems;
}
