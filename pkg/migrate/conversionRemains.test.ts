import { expect, test } from "vitest";
import type { KubeObject } from "../api/k8s.ts";
import { LABEL_MIGRATION } from "../api/migration.ts";
import type { Client } from "../kube/client.ts";
import { deleteRemains, findRemains, listRemains } from "./conversionRemains.ts";

const { signal } = new AbortController();
const RBAC = "rbac.authorization.k8s.io/v1";

function newCreated(apiVersion: string, kind: string, name: string, namespace?: string): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels: { [LABEL_MIGRATION]: "p" } } };
}
const ACCOUNT = newCreated("v1", "ServiceAccount", "p-installer", "ns");
const BACKUP = newCreated("v1", "Secret", "p-migration-backup", "ns");
const ROLE = newCreated(RBAC, "ClusterRole", "p-installer");

/** A client for these objects, which records deletions. @param extensions by name, with the name of their ServiceAccount */
function newClient(objects: readonly KubeObject[], extensions: Readonly<Record<string, string>> = {}) {
  const deleted: string[] = [];
  const isSelected = ({ metadata }: KubeObject, selector = ""): boolean => {
    const [key = "", value] = selector.split("=");
    const label = metadata.labels?.[key];
    return label !== undefined && (value === undefined || label === value);
  };
  const client = {
    list: async ({ apiVersion, kind }: KubeObject, { labelSelector }: { labelSelector?: string } = {}) => {
      if (kind === "ClusterExtension")
        return {
          items: Object.entries(extensions).map(([name, account]) => ({
            metadata: { name },
            spec: { namespace: "ns", serviceAccount: { name: account } },
          })),
        };
      return { items: objects.filter((one) => one.apiVersion === apiVersion && one.kind === kind && isSelected(one, labelSelector)) };
    },
    delete: async ({ kind, name }: { kind: string; name: string }) => void deleted.push(`${kind} ${name}`),
  };
  return { client: client as unknown as Client, deleted };
}

test.for<
  [when: string, objects: KubeObject[], extensions: Record<string, string>, name: string, namespace: string | undefined, want: number]
>([
  ["the extension is deleted", [ACCOUNT, BACKUP, ROLE], {}, "p", undefined, 3],
  ["the extension is deleted, in a namespace", [ACCOUNT, BACKUP, ROLE], {}, "p", "ns", 3],
  ["they are in another namespace", [ACCOUNT, BACKUP, ROLE], {}, "p", "other", 0],
  ["the conversion created none", [], {}, "p", undefined, 0],
  ["the extension exists", [ACCOUNT, BACKUP, ROLE], { p: "other" }, "p", undefined, 0],
  ["another extension uses their ServiceAccount", [ACCOUNT, ROLE], { q: "p-installer" }, "p", undefined, 0],
  ["the name is not a label value", [ACCOUNT, BACKUP], {}, "p,other=x", undefined, 0],
])("findRemains finds the objects that a conversion created when %s", async ([, objects, extensions, name, namespace, want]) => {
  const remains = await findRemains(newClient(objects, extensions).client, name, namespace, signal);
  expect(remains?.objects.length ?? 0).toBe(want);
});

test("deleteRemains deletes the backup last, so that a repeated rollback finds what is left", async () => {
  const { client, deleted } = newClient([BACKUP, ACCOUNT, ROLE]);
  const [remains, ...others] = await listRemains(client, undefined, signal);
  expect([remains?.extension, others]).toEqual(["p", []]);
  if (remains) await deleteRemains(client, remains, signal);
  expect(deleted).toEqual(["ClusterRole p-installer", "ServiceAccount p-installer", "Secret p-migration-backup"]);
});

test("listRemains ignores objects without a backup, and backups of existing extensions", async () => {
  expect(await listRemains(newClient([ACCOUNT, ROLE]).client, undefined, signal)).toEqual([]);
  expect(await listRemains(newClient([BACKUP, ACCOUNT], { p: "p-installer" }).client, undefined, signal)).toEqual([]);
});
