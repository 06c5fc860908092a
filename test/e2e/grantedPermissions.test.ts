import { afterAll, beforeAll, expect, test } from "vitest";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { HeldRule, type PolicyRule, toRule } from "../../pkg/rbac/policyRule.ts";
import { diffRules, formatRulesDiff, listUrlRules, mergeRequiredRules } from "../../pkg/rbac/ruleSets.ts";
import { readProcessUse } from "../bench/processUse.ts";
import { AuditTail, type Request } from "../support/auditTail.ts";
import { installCertManagerKinds } from "../support/certManagerKind.ts";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { ExtensionLife } from "../support/extensionLife.ts";
import { MANAGING_ACCOUNTS, ManagedWorld } from "../support/managedWorld.ts";
import { formatScopedPermission, needsPermission, type ScopedPermission, splitPermissions } from "../support/scopedPermissions.ts";
import { BUNDLE_SHAPES, toVersions } from "../support/shapedBundles.ts";

const FORBIDDEN = 403;
const MEBIBYTE = 2 ** 20;
const SHAPES = BUNDLE_SHAPES.map(({ name, what }) => [name, what] as const);

/** Permissions that the lives of these extensions do not need. */
const UNUSED: readonly (readonly [why: string, extension: RegExp, permission: RegExp])[] = [
  ["custom resources exist, so the definition is kept", /^kept$/, /^delete customresourcedefinitions\/things\.kept\.example\.com$/],
  ["custom resources are gone at once, so that none is read while it is deleted", /^leaving$/, /^get things/],
  ["no version of the definition is removed", /^(?!leaving$)/, /^patch customresourcedefinitions\/status\//],
];

describeWithPrivateCluster("the permissions that extensions get", (cluster) => {
  let world: ManagedWorld;
  let audit: AuditTail;
  let lives: readonly ExtensionLife[];

  beforeAll(async () => {
    audit = new AuditTail(cluster.auditLog);
    world = await ManagedWorld.start(cluster, { extraArgs: { "operator-controller": ["--max-backoff", "2s"] } });
    await world.publish("shapes", Object.fromEntries(BUNDLE_SHAPES.map((shape) => [shape.name, toVersions(shape)])));
    lives = BUNDLE_SHAPES.map((shape) => new ExtensionLife({ cluster, world, audit }, shape));
    await Promise.all(lives.map((life) => life.run()));
  });

  afterAll(() => world?.[Symbol.asyncDispose]());

  /** Returns the life of an extension. @throws Error if it ended early */
  function getLife(name: string): ExtensionLife {
    const life = lives.find((one) => one.name === name);
    if (!life) throw new Error(`no extension ${name}`);
    if (life.error !== undefined) throw life.error;
    return life;
  }

  test.for(SHAPES)(
    "extension %s with %s is installed, corrected, upgraded, rolled back and uninstalled without a denied request",
    async ([name]) => {
      const { namespace, account } = getLife(name);
      const requests = await audit.requestsOf(namespace, account);
      expect(requests.length).toBeGreaterThan(0);
      expect(requests.filter(({ code }) => code === FORBIDDEN).map(({ verb, uri, reason }) => `${verb} ${uri} ${reason}`)).toEqual([]);
    },
  );

  test.for(SHAPES)("extension %s with %s uses each of its permissions", async ([name]) => {
    const life = getLife(name);
    const unused = listUnused(life, await audit.requestsOf(life.namespace, life.account));
    const isKnown = (permission: string): boolean => UNUSED.some(([, extension, known]) => extension.test(name) && known.test(permission));
    expect(unused.filter((permission) => !isKnown(permission))).toEqual([]);
  });

  test.for(SHAPES)(
    "extension %s with %s has the rules that olmv1 permissions show prints, and loses all of them with its ServiceAccount",
    ([name]) => {
      const { samples, left } = getLife(name);
      for (const { phase, rules, shown } of samples)
        expect([phase, ...formatRulesDiff(diffRules(rules, shown))]).toEqual([phase, "no change"]);
      expect(left?.filter((object) => !object.startsWith("Namespace "))).toEqual([]);
    },
  );

  test("operator-controller and permission-manager are denied nothing", async () => {
    for (const account of MANAGING_ACCOUNTS) {
      const requests = await audit.requestsOf(SYSTEM_NAMESPACE, account);
      expect(requests.filter(({ code }) => code === FORBIDDEN).map(({ verb, uri }) => `${account}: ${verb} ${uri}`)).toEqual([]);
    }
  });

  test("an extension keeps the permissions for its certificates when cert-manager is installed later", async () => {
    const readSecretRules = async (): Promise<unknown[]> => {
      const { rules = [] } = (await world.permissions("hooks")).status ?? {};
      expect(rules.filter(({ apiGroups }) => apiGroups?.includes("cert-manager.io"))).toEqual([]);
      return rules.filter(({ resources }) => resources?.includes("secrets"));
    };
    await world.create("hooks", "hooks", {}, { version: "1.0.0" });
    await world.world.installed("hooks", "1.0.0");
    const before = await readSecretRules();
    expect(before).not.toEqual([]);
    await installCertManagerKinds(cluster.client);
    await world.edit("hooks", { spec: { source: { catalog: { version: "2.0.0" } } } });
    await world.world.installed("hooks", "2.0.0");
    await world.until("hooks", ({ history: [last] = [] }) => expect(last?.reason).toBe("Narrowed"));
    expect(await readSecretRules()).toEqual(before);
    await world.world.removed("ClusterExtension", "hooks");
  });

  // Not limited, because it depends on the machine.
  test("permission-manager reports its memory", async () => {
    const { rssBytes, peakRssBytes } = await readProcessUse(world.world.installation.servers["permission-manager"].pid);
    const format = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`;
    console.log(`permission-manager after ${SHAPES.length} extensions: ${format(rssBytes)} RSS, at most ${format(peakRssBytes)}`);
    expect(rssBytes).toBeGreaterThan(0);
  });
});

/**
 * Returns the permissions that the extension had at the end of a phase, and that it neither used nor needed to write a role of its bundle. The API
 * server only lets it write roles whose permissions it has.
 * @see https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-creation-or-update
 */
function listUnused({ samples, account }: ExtensionLife, requests: readonly Request[]): string[] {
  const allowed = requests.filter(({ code, reason }) => code < 300 && reason.includes(`"${account}`));
  const written = samples
    .flatMap(({ ownRoles }) => ownRoles)
    .filter(({ name, scope }) => allowed.some(({ verb, ref }) => verb === "patch" && ref.name === name && ref.namespace === scope));
  const isInRole = (scope: string, rule: PolicyRule): boolean =>
    written.some((role) => role.scope === scope && role.rules.some((held) => new HeldRule(held).covers(rule)));
  const rules = mergeRequiredRules(samples.map((sample) => sample.rules));
  const permissions = splitPermissions(rules);
  const isCovered = (permission: ScopedPermission): boolean =>
    permissions.some(
      (other) => other !== permission && other.scope === permission.scope && new HeldRule(toRule(other)).covers(toRule(permission)),
    );
  const unused = permissions.filter(
    (permission) =>
      !isCovered(permission) &&
      !allowed.some((request) => needsPermission(request, permission)) &&
      !isInRole(permission.scope, toRule(permission)),
  );
  const urls = rules.clusterRules.flatMap(listUrlRules).filter((rule) => !isInRole("", rule));
  return [...unused.map(formatScopedPermission), ...urls.map((rule) => JSON.stringify(rule))];
}
