const SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_PATTERN = new RegExp(`^${SUBDOMAIN}$`);
const MAX_LENGTH = 253;
const LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_PATTERN = new RegExp(`^${LABEL}$`);
const MAX_LABEL_LENGTH = 63;

/**
 * What is wrong with `name` as a DNS-1123 subdomain, in Kubernetes' words and in the order of the texts; nothing when it is one.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation#IsDNS1123Subdomain
 */
export function subdomainFaults(name: string): string[] {
  const faults: string[] = [];
  if (!SUBDOMAIN_PATTERN.test(name)) {
    faults.push(
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
        `alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`,
    );
  }
  if (Buffer.byteLength(name) > MAX_LENGTH) faults.push(`must be no more than ${MAX_LENGTH} characters`);
  return faults;
}

/** The same for `text` as a DNS-1035 label. @see https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation#IsDNS1035Label */
export function labelFaults(text: string): string[] {
  const faults: string[] = [];
  if (!LABEL_PATTERN.test(text)) {
    faults.push(
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
        `alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL}')`,
    );
  }
  if (Buffer.byteLength(text) > MAX_LABEL_LENGTH) faults.push(`must be no more than ${MAX_LABEL_LENGTH} characters`);
  return faults;
}
