import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { type ClusterExtension } from "../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION, LABEL_CREATED_FOR } from "../../pkg/api/constants.ts";
import { GRAFANA } from "../support/consoleWorld/platformPackages.ts";
import { GO_EXTENSIONS, type GoWorld } from "../support/goOlm/goWorld.ts";
import { makeChange } from "./actionDialog.ts";
import type { ConsolePage } from "./consoleBrowser.ts";
import { expectHidden, expectShown, type TestedConsole } from "./testedConsole.ts";

/** What the tests on a cluster of the Go implementation share. */
export interface TestedGoConsole extends Pick<TestedConsole, "cluster" | "browser"> {
  readonly world: GoWorld;
}

/** What a person must see on a page, and what would be false there. */
interface GoPage {
  readonly path: string;
  readonly shows: readonly string[];
  readonly hides?: readonly string[];
}

const { healthy, denied, unresolved } = GO_EXTENSIONS;
const HEALTHY = `/extensions/${healthy}`;
const NOT_REPORTED = "not reported by this OLM";

const PAGES: readonly GoPage[] = [
  {
    path: "/",
    shows: [
      'no bundles found for package "object-storage-operator" matching version "9.9.9"',
      "is forbidden",
      `Updates are ${NOT_REPORTED}`,
    ],
    hides: ["No approval, update or expiry is due"],
  },
  { path: "/extensions", shows: ["3 extensions", NOT_REPORTED, "1.1.0"] },
  {
    path: HEALTHY,
    shows: [
      "9 objects, all ready",
      "This OLM reports errors only in conditions.",
      `Drift ${NOT_REPORTED}`,
      "Delete: this OLM deletes them",
    ],
    hides: ["No problems are known", "Failing catalogs"],
  },
  { path: `${HEALTHY}/objects`, shows: ["Deployment object-storage/object-storage-controller healthy", "buckets.storage.example.com"] },
  { path: `${HEALTHY}/why`, shows: ["Version 1.1.0 stays installed.", "Blocked: Version range"] },
  {
    path: `${HEALTHY}/plan`,
    shows: ["Nothing would change.", "The OLM of this cluster has no approvals", "Another implementation of OLM v1"],
    hides: ["spec.drift", "Suspend the extension"],
  },
  {
    path: `${HEALTHY}/permissions`,
    shows: [`Missing permissions are ${NOT_REPORTED}`, "The needed permissions do not change."],
    hides: ["no matches for kind"],
  },
  { path: `${HEALTHY}/history`, shows: ["Revision 2", "Compare with revision 1", `Drift is ${NOT_REPORTED}.`], hides: ["Roll back"] },
  {
    path: `${HEALTHY}/uninstall`,
    shows: ["The OLM of this cluster has no policy for them", "2 custom resources", "Deleted with data", "with 9 objects"],
    hides: ["Delete unused ones", "Keep all"],
  },
  { path: `/extensions/${denied}`, shows: ["is forbidden"], hides: ["olmv1 events"] },
  { path: `/extensions/${denied}/objects`, shows: ["is forbidden", "olmv1 describe secrets-sync"], hides: ["olmv1 events"] },
  { path: `/extensions/${denied}/plan`, shows: ["The controller would reject this plan", "Last attempt of the controller"] },
  { path: `/extensions/${denied}/permissions`, shows: ["Needed in addition to now", "ServiceAccount, roles and bindings"] },
  { path: `/extensions/${unresolved}/why`, shows: ["No version can be chosen.", "The highest version is 1.2.0."] },
  {
    path: "/catalogs/community-operators",
    shows: ["catalogd does not report findings", `The catalogs of 1 installed bundle are ${NOT_REPORTED}`],
  },
  { path: `/packages/${GRAFANA.name}`, shows: ["--create-service-account"] },
  { path: "/dependencies", shows: ["No extension needs another one"] },
  { path: "/cluster-upgrade", shows: ["This cluster is not an OpenShift cluster"] },
  {
    path: "/installation",
    shows: ["0 problems, 0 warnings", "another implementation of OLM v1 is installed"],
    hides: ["permission-manager"],
  },
];

/** Declares that every page is true and complete on a cluster whose OLM requires ServiceAccounts, and that an extension can be installed there. */
export function describeGoPages(tested: () => TestedGoConsole): void {
  test.each(PAGES)(
    "page $path states what the Go implementation reports, and offers only what it supports",
    async ({ path, shows, hides = [] }) => {
      await using page = await tested().browser.open();
      await page.goto(path);
      await expectShown(page, ...shows);
      await expectHidden(page, ...hides);
      expect(page.errors).toEqual([]);
    },
  );

  test("the install page applies a ServiceAccount with its roles, and the Go implementation's API accepts the extension", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/packages/${GRAFANA.name}/install`);
    await expectShown(page, "so the manifest contains a ServiceAccount", "kind: ClusterRoleBinding");
    await expectHidden(page, "Approval");
    const extension = await applyManifest(tested, page);
    expect(extension.spec).toMatchObject({
      namespace: "grafana-operator-system",
      serviceAccount: { name: "grafana-operator-installer" },
    });
    await expectShown(page, "Pending");
    await tested().world.install(extension, GRAFANA, ["5.16.0"]);
    await expectShown(page, "Installed", "grafana-operator.v5.16.0 (5.16.0)", "objects, all ready");
    expect(page.errors).toEqual([]);
  });

  test("the uninstall deletes the extension after its name was typed, because data is lost", async () => {
    await using page = await tested().browser.open();
    await page.goto(`${HEALTHY}/uninstall`);
    const change = await makeChange(tested, page, findButton(page, "Uninstall …"), { confirm: "Uninstall", typed: healthy });
    expect(change.text).toContain("2 custom resources of buckets.storage.example.com will be deleted");
    expect(change.requests.map(({ method }) => method)).toEqual(["DELETE"]);
    const found = await tested().cluster.client.get({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: healthy });
    expect(found?.metadata.deletionTimestamp).toBeDefined();
  });
}

/** Declares the differences on a cluster whose OLM ignores ServiceAccounts. */
export function describeGoControllerPages(tested: () => TestedGoConsole): void {
  test("the install page applies only the extension and its namespace when the OLM ignores ServiceAccounts", async () => {
    await using page = await tested().browser.open();
    await page.goto(`/packages/${GRAFANA.name}/install`);
    await expectShown(page, "with its own permissions, and ignores ServiceAccounts", "kind: Namespace");
    await expectHidden(page, "kind: ServiceAccount", "Approval", "Optional. The console checks it like the controller.");
    const { metadata, spec } = await applyManifest(tested, page);
    expect(spec.serviceAccount).toBeUndefined();
    const namespace = await tested().cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: spec.namespace ?? "" });
    expect(namespace?.metadata.labels?.[LABEL_CREATED_FOR]).toBe(metadata.name);
    await tested().world.install(await readExtension(tested), GRAFANA, ["5.16.0"]);
    await expectShown(page, "Installer the controller, with its own permissions");
    expect(page.errors).toEqual([]);
  });
}

async function applyManifest(tested: () => TestedGoConsole, page: ConsolePage): Promise<ClusterExtension> {
  await makeChange(tested, page, findButton(page, "Apply"), { confirm: "Apply" });
  await page.page.waitForURL(`**/extensions/${GRAFANA.name}`);
  return readExtension(tested);
}

async function readExtension(tested: () => TestedGoConsole): Promise<ClusterExtension> {
  const found = await tested().cluster.client.get<ClusterExtension>({
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    name: GRAFANA.name,
  });
  if (!found) throw new Error(`ClusterExtension ${GRAFANA.name} does not exist`);
  return found;
}

function findButton({ page }: ConsolePage, name: string): Locator {
  return page.locator("main").getByRole("button", { name, exact: true });
}
