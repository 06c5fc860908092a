/** Maximum length of a DNS-1123 subdomain, and of most object names. */
const SUBDOMAIN_MAX = 253;
/** Maximum length of a DNS label. */
const LABEL_MAX = 63;
const LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = String.raw`${LABEL_1123}(\.${LABEL_1123})*`;

/** Pattern of a DNS-1123 label for RE2 and JavaScript, without its length limit. */
export const DNS1123_LABEL = `^${LABEL_1123}$`;
/** Pattern of a DNS-1123 subdomain: labels joined by dots. */
export const DNS1123_SUBDOMAIN = `^${SUBDOMAIN}$`;

const IS_SUBDOMAIN = new RegExp(DNS1123_SUBDOMAIN);
const IS_LABEL = new RegExp(DNS1123_LABEL);
const IS_LABEL_1035 = new RegExp(`^${LABEL_1035}$`);

/** Returns whether `text` is a DNS-1123 subdomain of at most 253 characters. Such a text is a safe folder name. */
export function isSubdomain(text: string): boolean {
  return text.length <= SUBDOMAIN_MAX && IS_SUBDOMAIN.test(text);
}

/** Returns whether `text` is a DNS-1123 label of at most 63 characters. */
export function isLabel(text: string): boolean {
  return text.length <= LABEL_MAX && IS_LABEL.test(text);
}

/** Returns whether `text` is a DNS-1035 label of at most 63 characters: an API version or, in lower case, a kind. */
export function isLabel1035(text: string): boolean {
  return text.length <= LABEL_MAX && IS_LABEL_1035.test(text);
}

/**
 * Returns the errors of the API server for `name` as a DNS-1123 subdomain, in its order; empty if valid.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1123Subdomain
 */
export function validateSubdomain(name: string): string[] {
  const form =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
    `alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`;
  return [...lengthFaults(name, SUBDOMAIN_MAX), ...(IS_SUBDOMAIN.test(name) ? [] : [form])];
}

/**
 * Returns the errors of the API server for `name` as a DNS-1123 label; empty if valid.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1123Label
 */
export function validateLabel(name: string): string[] {
  const faults = lengthFaults(name, LABEL_MAX);
  if (IS_LABEL.test(name)) return faults;
  const form =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
    `character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL_1123}')`;
  return [...faults, IS_SUBDOMAIN.test(name) ? "must not contain dots" : form];
}

/**
 * Returns the errors of the API server for `text` as a DNS-1035 label; empty if valid.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1035Label
 */
export function validateLabel1035(text: string): string[] {
  const form =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
    `alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL_1035}')`;
  return [...lengthFaults(text, LABEL_MAX), ...(IS_LABEL_1035.test(text) ? [] : [form])];
}

function lengthFaults(text: string, max: number): string[] {
  return Buffer.byteLength(text) > max ? [`must be no more than ${max} characters`] : [];
}
