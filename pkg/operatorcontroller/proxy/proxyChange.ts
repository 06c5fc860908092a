import { PROXY_NAMES, type ProxyVariables } from "../../api/proxy.ts";

/** Which variables differ, without their values, which may hold passwords; undefined where none does. */
export function proxyChange(before: ProxyVariables = {}, after: ProxyVariables = {}): string | undefined {
  const changes = PROXY_NAMES.flatMap((name) => {
    const [from, to] = [before[name], after[name]];
    if (from === to) return [];
    return [`${name} ${from === undefined ? "set" : to === undefined ? "removed" : "changed"}`];
  });
  return changes.length === 0 ? undefined : changes.join(", ");
}
