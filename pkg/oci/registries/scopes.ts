import { isNamePrefix } from "../../api/imageName.ts";
import { REDACTED, redactUserinfo } from "../../text/redact.ts";
import { truncateExcerpt } from "../../text/truncate.ts";

const WILDCARD = /^\*(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)+$/;
const NAME_MAX = 255;
const SHOWN_MAX = 128;
/** User name and password before a host without a scheme. A digest follows a path instead. */
const USERINFO = /^[^/@]*@/;

/**
 * Returns whether mirrors of `text` can be configured: a host, a host with a path, or `*.` with a domain.
 * @see openshift/api c01b540c config/v1 imagedigestmirrorsets.crd.yaml, pattern of `source`
 */
export function isMirrorSource(text: string): boolean {
  return isMirror(text) || (text.length <= NAME_MAX && WILDCARD.test(text));
}

/** Returns whether `text` can be the location of a mirror: a host, or a host with a path. @see the pattern of `mirrors` */
export function isMirror(text: string): boolean {
  return isNamePrefix(text);
}

/**
 * Returns why `text` is not a scope of `registrySources`; undefined if it is one: a registry, a repository, an image, or `*.` with a domain. Unlike
 * the Machine Config Operator, also rejects a scheme, because no image would match.
 * @see openshift/machine-config-operator 7ce171ca vendor/github.com/openshift/runtime-utils/pkg/registries IsValidRegistriesConfScope
 */
export function findScopeFault(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (text.includes("://")) return "it must not have a scheme";
  if (!text.includes("*")) return undefined;
  const isWildcard = text.startsWith("*.") && !/[/@:*]/.test(text.slice(2));
  return isWildcard ? undefined : "a wildcard must be of the form *.example.com";
}

/**
 * Returns the scopes that contain a scope, most specific first: the scope itself, its namespaces, its registry, and `*.` with each parent domain.
 * @see openshift/machine-config-operator 7ce171ca vendor/github.com/openshift/runtime-utils/pkg/registries ScopeIsNestedInsideScope
 */
export function listEnclosingScopes(scope: string): string[] {
  const scopes = [scope];
  for (let end = scope.lastIndexOf("/"); end > 0; end = scope.lastIndexOf("/", end - 1)) scopes.push(scope.slice(0, end));
  const host = scope.slice(0, scope.search(/[:/]|$/));
  for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
    const wildcard = `*${host.slice(dot)}`;
    if (wildcard !== scope) scopes.push(wildcard);
  }
  return scopes;
}

/** Formats an untrusted location for messages: without user names and passwords, and truncated. */
export function formatLocation(text: string): string {
  const shown = truncateExcerpt(redactUserinfo(text.includes("://") ? text : text.replace(USERINFO, `${REDACTED}@`)), {
    length: SHOWN_MAX,
  });
  return JSON.stringify(shown);
}
