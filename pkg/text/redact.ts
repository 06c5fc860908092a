/** Replacement of a secret. */
export const REDACTED = "[redacted]";

/**
 * The authority of a URL up to its last "@", because passwords may contain an unescaped "@". A
 * quote ends it, as in JSON.
 */
const USERINFO = /:\/\/[^\s/?#"]*@/g;

/**
 * Returns `text` with user name and password in every URL replaced, for example of the proxy in
 * "dial http://user:password@proxy:3128".
 */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `://${REDACTED}@`);
}

/**
 * Names of fields that are secret at any position, from the top of a log line to three objects
 * down.
 */
const SECRET_MEMBERS = ["authorization", "Authorization", "token", "password", "identitytoken", "registrytoken", "client-key-data"];

/** pino redaction paths for all secret fields. */
export const REDACT_PATHS: string[] = ["", "*.", "*.*.", "*.*.*."].flatMap((prefix) =>
  SECRET_MEMBERS.map((member) => (/^\w+$/.test(member) ? `${prefix}${member}` : `${prefix.replace(/\.$/, "")}["${member}"]`)),
);

/** Starts at a word boundary, because otherwise every position of a long word would be tried. */
const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g;
/** Requires a capital or a digit, so that "Basic authentication" stays readable. */
const SCHEME = /\b([Bb]earer|[Bb]asic) +(?=[a-z.~+/_-]*[A-Z0-9])[\w.~+/-]{8,}={0,2}/g;

/**
 * Returns `text` without likely credentials: JSON Web Tokens, Authorization values, users and
 * passwords in URLs. For single log lines.
 */
export function redactSecrets(text: string): string {
  return redactUserinfo(text.replace(JWT, REDACTED).replace(SCHEME, `$1 ${REDACTED}`));
}
