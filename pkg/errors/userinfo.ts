/** What stands where a secret was. */
export const REDACTED = "[redacted]";

/** The authority of a URL up to its last "@": passwords hold an "@" now and then that nobody has escaped. A quote ends it, as in JSON. */
const USERINFO = /:\/\/[^\s/?#"]*@/g;

/** `text` with user name and password of every URL in it replaced, as of the proxy in "dial http://user:password@proxy:3128". */
export function withoutUserinfo(text: string): string {
  return text.replace(USERINFO, `://${REDACTED}@`);
}
