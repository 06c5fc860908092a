/** Text that replaces a secret. */
export const REDACTED = "[redacted]";

/**
 * The authority of a URL up to its last "@", because passwords may contain an unescaped "@". Ends
 * at a quote, as in JSON.
 */
const USERINFO = /:\/\/[^\s/?#"]*@/g;

/**
 * Returns `text` with user name and password replaced in every URL, for example in "dial
 * http://user:password@proxy:3128".
 */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `://${REDACTED}@`);
}

/**
 * Names of secret fields, which are redacted at the top level of a log line and in up to three
 * levels of nested objects.
 */
const SECRET_MEMBERS = ["authorization", "Authorization", "token", "password", "identitytoken", "registrytoken", "client-key-data"];

/** pino redaction paths for all secret fields. */
export const REDACT_PATHS: string[] = ["", "*.", "*.*.", "*.*.*."].flatMap((prefix) =>
  SECRET_MEMBERS.map((member) => (/^\w+$/.test(member) ? `${prefix}${member}` : `${prefix.replace(/\.$/, "")}["${member}"]`)),
);

/** Starts at a word boundary, because otherwise the expression would be tried at every position of a long word. */
const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g;
/** Requires a capital letter or a digit, so that "Basic authentication" is not redacted. */
const SCHEME = /\b([Bb]earer|[Bb]asic) +(?=[a-z.~+/_-]*[A-Z0-9])[\w.~+/-]{8,}={0,2}/g;

/**
 * Returns `text` with likely credentials replaced: JSON Web Tokens, Authorization values, user
 * names and passwords in URLs. For single log lines.
 */
export function redactSecrets(text: string): string {
  return redactUserinfo(text.replace(JWT, REDACTED).replace(SCHEME, `$1 ${REDACTED}`));
}
