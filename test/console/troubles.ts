import { expect, test } from "vitest";
import { EXTENSIONS, type SeededState } from "../support/consoleWorld/extensions.ts";
import { selectCases } from "../support/manyRuns.ts";
import type { ConsolePage } from "./consoleBrowser.ts";
import { expectShown, readText, type Tested } from "./testedConsole.ts";

/** What a person must find out about an extension in trouble. */
interface Trouble {
  /** Label of the icon on the start page. */
  readonly severity: "Not working" | "At risk" | "Waiting";
  /** The cause, as the start page and the page of the extension state it. */
  readonly cause: readonly string[];
  /** The next step on the start page and on the page of the extension. */
  readonly next: string;
  /** What the tabs add, by their labels. */
  readonly tabs: Readonly<Record<string, readonly (string | RegExp)[]>>;
}

const TROUBLES: Readonly<Record<Exclude<SeededState, "healthy">, Trouble>> = {
  missingPermission: {
    severity: "Not working",
    cause: ["ServiceAccount secrets-sync/secrets-sync-installer lacks permissions that the bundle needs"],
    next: "--namespace secrets-sync --service-account secrets-sync-installer | kubectl apply -f -",
    tabs: {
      Overview: [
        "MissingPermissions",
        "In the whole cluster",
        "patch customresourcedefinitions.apiextensions.k8s.io: syncedsecrets.secrets.example.com",
      ],
    },
  },
  pendingApproval: {
    severity: "Waiting",
    cause: ["Bundle postgres-operator.v1.1.0 (version 1.1.0) waits for your approval."],
    next: "olmv1 approve postgres",
    tabs: {
      Overview: ["waiting for approval to create 3, update 3 and delete 2 objects", "postgres-operator.v1.0.0 (version 1.0.0)"],
      Plan: ["3 to create", "3 to change", "2 to delete", "grants the operator more permissions than now"],
    },
  },
  failedRollout: {
    severity: "Not working",
    cause: ["kafka-cluster-operator", 'container "manager" is in CrashLoopBackOff'],
    next: "olmv1 tree kafka",
    tabs: {
      Overview: ["Roll back to revision 1", "kafka-operator.v3.3.0"],
      Objects: [
        "1 object does not work",
        /Deployment kafka-operator-system\/kafka-cluster-operator (progressing 1 of 2 replicas are updated|failed its progressDeadlineSeconds is exceeded)/,
        "last exit code 1",
      ],
    },
  },
  drift: {
    severity: "At risk",
    cause: ['Deployment grafana-operator-system/grafana-operator was changed: spec.replicas by "kubectl-edit"'],
    next: "olmv1 history grafana",
    tabs: { Overview: ["DriftDetected", "fields: spec.replicas, spec.template.spec.containers[name=manager].args[0]", "Correct drift"] },
  },
  blockedUpgrade: {
    severity: "Waiting",
    cause: ["Version 2.1.0 is blocked", 'it has no upgrade edge from "redis-operator.v1.4.2"'],
    next: "olmv1 why-not redis 2.1.0",
    tabs: {
      Overview: ["set upgradeConstraintPolicy to SelfCertified"],
      "Why this version": ["redis-operator.v1.4.2", "2.1.0", "upgrade edge"],
    },
  },
  deprecated: {
    severity: "At risk",
    cause: ["The Logging Operator reached its end of support on 2026-03-31. Move to opentelemetry-collector-operator."],
    next: "Install the package that the message recommends, then uninstall this extension.",
    tabs: { Overview: ["Channel 4.x gets only critical security fixes.", "CVE-2026-1234"], "Why this version": ["deprecated"] },
  },
  missingDependency: {
    severity: "Not working",
    cause: [
      "tracing-operator 1.62.0 requires API opensearch.example.com/v1 OpenSearchCluster",
      "which no bundle of the selected catalogs provides",
    ],
    next: "olmv1 resolve tracing --explain",
    tabs: { Overview: ["UnsatisfiedDependencies", "No bundle is installed"], "Why this version": ["OpenSearchCluster"] },
  },
  crdFinding: {
    severity: "Not working",
    cause: ['validating upgrade for CRD "backups.backup.example.com"', "removed field"],
    next: "olmv1 upgrade backup --version RANGE",
    tabs: {
      Overview: [
        "Upgrading the CustomResourceDefinition could lose data",
        "1 of 2 custom resources would not be valid",
        "shop/nightly (v1): spec.retentionDays: is more than 14",
        "servedVersionRemoval",
      ],
      Plan: ["spec.schedule"],
    },
  },
  quota: {
    severity: "Not working",
    cause: ["ResourceQuota ml-training/team-budget does not allow all new objects", "count/deployments.apps=3"],
    next: "kubectl -n ml-training describe resourcequota",
    tabs: { Overview: ["QuotaExceeded", "Try again now"] },
  },
  catalogDown: {
    severity: "Not working",
    cause: ['catalog "partner-operators" is not being served', "manifest unknown"],
    next: "olmv1 events gpu",
    tabs: { Overview: ["Failing catalogs", "partner-operators retrying"] },
  },
  uninstallWaiting: {
    severity: "Not working",
    cause: ["not uninstalled: other extensions depend on bundle", 'ClusterExtension "gateway"'],
    next: "Uninstall the dependents first",
    tabs: { Overview: ["RequiredByOthers", "The extension is being uninstalled."] },
  },
  conversionNeeded: {
    severity: "Not working",
    cause: [
      "CustomResourceDefinition queues.queues.example.com is kept (custom resources exist)",
      "only the conversion webhook of this extension can convert its custom resources",
    ],
    next: "Keep the custom resources without conversion",
    tabs: {
      Overview: ["ConversionNeeded", "shop-queues/orders", "Show what is uninstalled"],
      Uninstall: ["The uninstall would stop", "drop-conversion=true", "1 custom resource", "Kept"],
    },
  },
  planPermissionsPending: {
    severity: "Not working",
    cause: ["bundle orders-operator.v1.0.0: 1 permission rule must be approved"],
    next: "olmv1 permissions approve orders",
    tabs: { Permissions: ["Rules that wait for approval", "bind, escalate clusterroles.rbac.authorization.k8s.io: all"] },
  },
  permissionsPending: {
    severity: "Not working",
    cause: ["bundle mesh-operator.v2.6.0: 3 permission rules must be approved"],
    next: "olmv1 permissions approve mesh",
    tabs: { Overview: ["PermissionsPending"], Plan: ["Root-equivalent"] },
  },
};

/** Declares that a person finds the cause and the next step of each extension in trouble, on the start page and on the pages of the extension. */
export function describeTroubles(tested: Tested): void {
  const troubles = Object.entries(TROUBLES).map(([state, trouble]) => ({ name: EXTENSIONS[state as SeededState].name, ...trouble }));

  test("the start page names the cause, the severity and the next step of each extension in trouble, and no healthy one", async () => {
    await using page = await tested().browser.open();
    await page.goto("/");
    for (const { name, severity, cause, next } of troubles) {
      const item = findItem(page, name);
      const text = await readText(item);
      for (const one of [...cause, next]) expect(text, name).toContain(one);
      expect(await item.getByRole("img", { name: severity }).count(), `${name}: ${severity}`).toBe(1);
    }
    const { healthy } = tested().world.names;
    expect(await findItem(page, healthy).count()).toBe(0);
    expect(await page.mainText()).not.toContain("Everything works");
    const severities = await page.page
      .getByRole("list", { name: "Needs attention" })
      .getByRole("img")
      .evaluateAll((all) => all.map((one) => one.ariaLabel));
    expect(severities).toEqual(severities.toSorted((one, other) => rank(one) - rank(other)));
  });

  test.each(selectCases(troubles, "extensions with problems"))(
    "the pages of $name state the cause and the next step",
    async ({ name, cause, next, tabs }) => {
      await using page = await tested().browser.open();
      await page.goto("/");
      await findItem(page, name).getByRole("link", { name, exact: true }).click();
      await page.page.waitForURL(`**/extensions/${name}`);
      await page.ready();
      await expectShown(page, next);
      expect(await page.mainText()).not.toContain("No problems are known");
      expect(await readText(page.page.locator("main header")), "the header repeats no problem").not.toContain(cause[0]);
      await openTab(page, name, name === EXTENSIONS.drift.name ? "Objects" : "History"); // a tab that does not explain it
      await expectShown(page, ...cause, next);
      for (const [tab, texts] of Object.entries(tabs)) {
        await openTab(page, name, tab);
        await expectShown(page, ...texts);
      }
      expect(page.errors).toEqual([]);
    },
  );
}

async function openTab(page: ConsolePage, name: string, tab: string): Promise<void> {
  await page.page
    .getByRole("navigation", { name: `Views of extension ${name}` })
    .getByRole("link", { name: tab, exact: true })
    .click();
  await page.ready();
}

function findItem({ page }: ConsolePage, name: string) {
  const items = page.getByRole("list", { name: "Needs attention" }).getByRole("listitem");
  return items.filter({ has: page.getByRole("link", { name, exact: true }) });
}

function rank(severity: string | null): number {
  return ["Not working", "At risk", "Waiting"].indexOf(severity ?? "");
}
