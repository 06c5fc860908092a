/** Longest DNS-1123 subdomain, and with it the longest name of most objects. */
const SUBDOMAIN_MAX = 253;
/** Longest label of DNS. */
const LABEL_MAX = 63;
const LABEL_1123 = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = String.raw`${LABEL_1123}(\.${LABEL_1123})*`;

/** DNS-1123 label as RE2 and JavaScript both read it; the length has a bound of its own. */
export const DNS1123_LABEL = `^${LABEL_1123}$`;
/** DNS-1123 subdomain: labels joined by dots. */
export const DNS1123_SUBDOMAIN = `^${SUBDOMAIN}$`;

const IS_SUBDOMAIN = new RegExp(DNS1123_SUBDOMAIN);
const IS_LABEL = new RegExp(DNS1123_LABEL);
const IS_LABEL_1035 = new RegExp(`^${LABEL_1035}$`);

/** Returns whether `text` is a DNS-1123 subdomain of at most 253 characters; as the name of a folder it cannot lead anywhere else. */
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
 * Returns what is wrong with `name` as a DNS-1123 subdomain, in the API server's words and order; nothing for a subdomain.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1123Subdomain
 */
export function subdomainFaults(name: string): string[] {
  const form =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
    `alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN}')`;
  return [...lengthFaults(name, SUBDOMAIN_MAX), ...(IS_SUBDOMAIN.test(name) ? [] : [form])];
}

/**
 * Returns the same for `name` as a DNS-1123 label.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1123Label
 */
export function labelFaults(name: string): string[] {
  const faults = lengthFaults(name, LABEL_MAX);
  if (IS_LABEL.test(name)) return faults;
  const form =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric " +
    `character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL_1123}')`;
  return [...faults, IS_SUBDOMAIN.test(name) ? "must not contain dots" : form];
}

/**
 * Returns the same for `text` as a DNS-1035 label.
 * @see https://github.com/kubernetes/apimachinery/blob/v0.36.0/pkg/util/validation/validation.go IsDNS1035Label
 */
export function label1035Faults(text: string): string[] {
  const form =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an " +
    `alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '${LABEL_1035}')`;
  return [...lengthFaults(text, LABEL_MAX), ...(IS_LABEL_1035.test(text) ? [] : [form])];
}

function lengthFaults(text: string, max: number): string[] {
  return Buffer.byteLength(text) > max ? [`must be no more than ${max} characters`] : [];
}
