/** What stands where a secret was. */
export const REDACTED = "[redacted]";

/** The authority of a URL up to its last "@": passwords hold an "@" now and then that nobody has escaped. A quote ends it, as in JSON. */
const USERINFO = /:\/\/[^\s/?#"]*@/g;

/** `text` with user name and password of every URL in it replaced, as of the proxy in "dial http://user:password@proxy:3128". */
export function redactUserinfo(text: string): string {
  return text.replace(USERINFO, `://${REDACTED}@`);
}

/** Members that are secrets wherever they stand, at the top of a log line or up to three objects down. */
const SECRET_MEMBERS = ["authorization", "Authorization", "token", "password", "identitytoken", "registrytoken", "client-key-data"];

/** pino redaction paths for all secret members. */
export const REDACT_PATHS: string[] = ["", "*.", "*.*.", "*.*.*."].flatMap((prefix) =>
  SECRET_MEMBERS.map((member) => (/^\w+$/.test(member) ? `${prefix}${member}` : `${prefix.replace(/\.$/, "")}["${member}"]`)),
);

/** Begins where a word does: one that could begin anywhere would be looked for from every place of a long word. */
const JWT = /(?<![\w-])eyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*/g;
/** Needs a capital or a digit, so that "Basic authentication" stays readable. */
const SCHEME = /\b([Bb]earer|[Bb]asic) +(?=[a-z.~+/_-]*[A-Z0-9])[\w.~+/-]{8,}={0,2}/g;

/** `text` without what looks like a credential: JSON Web Tokens, Authorization values, users and passwords in URLs. For one line of a log at a time. */
export function redactSecrets(text: string): string {
  return redactUserinfo(text.replace(JWT, REDACTED).replace(SCHEME, `$1 ${REDACTED}`));
}
