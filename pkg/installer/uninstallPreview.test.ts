import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { createExtension } from "../../test/support/extensions.ts";
import { releaseRecord } from "../../test/support/releases.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import {
  API_VERSION,
  CLUSTER_EXTENSION,
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_VERSION,
  LABEL_CREATED_FOR,
  LABEL_PACKAGE_NAME,
} from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { encodeRelease } from "../release/storage/encode.ts";
import type { CustomResources } from "./removal.ts";
import { divideDefinitions, previewUninstall } from "./uninstallPreview.ts";

const SYSTEM = "olmv1-system";
const NOW = new AbortController().signal;

function extension(name: string): ClusterExtension {
  const base = createExtension(name, { packageName: name });
  return { ...base, metadata: { name, uid: `uid-${name}` }, spec: { ...base.spec, namespace: "shared" } };
}

/** Creates the release Secret of an extension whose bundle requires a package. */
function createRelease(name: string, required?: string): KubeObject {
  const property = { type: "olm.package.required", value: { packageName: required, versionRange: ">=1.0.0" } };
  const record = releaseRecord(1, "deployed", {
    name,
    labels: { [LABEL_BUNDLE_NAME]: `${name}.v1.0.0`, [LABEL_PACKAGE_NAME]: name, [LABEL_BUNDLE_VERSION]: "1.0.0" },
    annotations: required === undefined ? {} : { "olm.properties": JSON.stringify([property]) },
  });
  const owner = { name, uid: `uid-${name}` };
  const [index] = encodeRelease(record, { systemNamespace: SYSTEM, owner });
  if (!index) throw new Error("no index Secret");
  const ownerReferences = [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, ...owner }];
  return { ...index, metadata: { ...index.metadata, ownerReferences } };
}

/** Returns a client of a cluster with extensions `a`, and `b` whose bundle requires package `a`. */
function createClient({ created = [], refuse = [] }: { created?: KubeObject[]; refuse?: string[] } = {}): never {
  const extensions = ["a", "b"].map(extension);
  const secrets = [createRelease("a"), createRelease("b", "a")];
  const client = {
    get: ({ kind, name }: { kind: string; name: string }) =>
      Promise.resolve([...extensions, ...secrets].find((one) => one.kind === kind && one.metadata.name === name)),
    list: ({ kind }: { kind: string }, { labelSelector = "" }: { labelSelector?: string } = {}) => {
      if (refuse.includes(kind)) return Promise.reject(new Error(`listing ${kind} is forbidden`));
      const isSelected = ({ metadata }: KubeObject): boolean => labelSelector.includes(`name=${metadata.labels?.["name"]},`);
      const all =
        kind === CLUSTER_EXTENSION
          ? extensions
          : kind === "Secret"
            ? secrets.filter(isSelected)
            : labelSelector.includes(LABEL_CREATED_FOR)
              ? created
              : [];
      return Promise.resolve({ items: all.filter((one) => one.kind === kind), resourceVersion: "1" });
    },
    request: () => {
      const body = Readable.from([Buffer.from(JSON.stringify({ kind: "APIGroupDiscoveryList", items: [] }))]);
      return Promise.resolve({ statusCode: 200, headers: {}, body });
    },
  };
  return client as never;
}

test("previewUninstall returns the extensions that depend on the extension when they are requested", async () => {
  const { dependents } = await previewUninstall(createClient(), "a", { systemNamespace: SYSTEM, withDependents: true }, NOW);
  expect(dependents).toEqual([{ extension: "b", bundle: "b.v1.0.0", needs: ['package "a" >=1.0.0'] }]);
  expect((await previewUninstall(createClient(), "b", { systemNamespace: SYSTEM, withDependents: true }, NOW)).dependents).toEqual([]);
});

test("previewUninstall returns why dependents are unknown when the releases cannot be listed, and nothing unless requested", async () => {
  const client = createClient({ refuse: ["Secret"] });
  expect((await previewUninstall(client, "a", { systemNamespace: SYSTEM, withDependents: true }, NOW)).dependents).toBe(
    "listing Secret is forbidden",
  );
  expect(await previewUninstall(client, "a", { systemNamespace: SYSTEM }, NOW)).not.toHaveProperty("dependents");
});

const createMade = (kind: string, name: string): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, uid: name, labels: { [LABEL_CREATED_FOR]: "a" } },
});

test("previewUninstall divides the objects that olmv1 install created", async () => {
  const created = [createMade("ServiceAccount", "installer"), createMade("Namespace", "shared")];
  const preview = async (options: object) => {
    const { created: going, staying } = await previewUninstall(
      createClient({ created }),
      "a",
      { systemNamespace: SYSTEM, ...options },
      NOW,
    );
    return [going.map(({ metadata }) => metadata.name), staying];
  };
  expect(await preview({})).toEqual([["installer"], ["Namespace shared is kept; --delete-namespace deletes it with its content."]]);
  expect(await preview({ deleteNamespace: true })).toEqual([
    ["installer"],
    ["Namespace shared is kept, because ClusterExtension b uses it."],
  ]);
  expect((await preview({ keepServiceAccount: true }))[0]).toEqual([]);
});

test("divideDefinitions separates custom resources that will be lost from definitions that are unused or kept", () => {
  const createUse = (name: string, parts: Partial<CustomResources> = {}): CustomResources => ({
    crd: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name } },
    kind: name,
    names: [],
    isMore: false,
    ...parts,
  });
  const customResources = [createUse("used", { names: ["n/x"] }), createUse("unused"), createUse("hidden", { unknown: "forbidden" })];
  const names = (crdPolicy: "Delete" | "DeleteIfUnused"): string[][] => {
    const { lost, unused, kept } = divideDefinitions({ customResources, crdPolicy });
    return [lost, unused, kept].map((all) => all.map(({ kind }) => kind));
  };
  expect(names("Delete")).toEqual([["used", "hidden"], ["unused"], []]);
  expect(names("DeleteIfUnused")).toEqual([[], ["unused"], ["used", "hidden"]]);
});
