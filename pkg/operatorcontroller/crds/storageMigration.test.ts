import { expect, test } from "vitest";
import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import { KubeError } from "../../kube/errors.ts";
import type { PageOptions } from "../../kube/request.ts";
import { migrateStorage, type StorageMigrationProgress } from "./storageMigration.ts";

const CRD: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "gauges.example.com", uid: "crd" },
  spec: {
    group: "example.com",
    names: { kind: "Gauge", plural: "gauges" },
    versions: [{ name: "v1", served: true, storage: true }],
  },
  status: { storedVersions: ["v1alpha1", "v1"] },
};

/** An API server with numbered Gauges, whose list positions expire after a number of pages. */
class GaugeApi {
  /** Names of the Gauges that were stored again. */
  readonly stored: string[] = [];
  /** Name of a Gauge that the API server rejects. */
  rejected: string | undefined;
  readonly #objects: number;
  readonly #pagesPerList: () => number;
  #pagesLeft = 0;

  constructor(objects: number, pagesPerList: () => number) {
    this.#objects = objects;
    this.#pagesPerList = pagesPerList;
  }

  get = async <T extends KubeObject>(): Promise<T | undefined> => CRD as T;

  listPage = async (_: unknown, { limit, continue: token }: PageOptions): Promise<Uint8Array> => {
    if (token === undefined) this.#pagesLeft = this.#pagesPerList();
    if (this.#pagesLeft-- <= 0) throw new KubeError("expired", { status: 410, reason: "Expired" });
    const start = Number(token ?? 0);
    const end = Math.min(start + limit, this.#objects);
    const remaining = this.#objects - end;
    const items = Array.from({ length: end - start }, (_item, i) => ({ metadata: { name: `g${start + i}`, uid: `uid-${start + i}` } }));
    const metadata = remaining > 0 ? { continue: String(end), remainingItemCount: remaining } : {};
    return new TextEncoder().encode(JSON.stringify({ kind: "GaugeList", metadata, items }));
  };

  patch = async <T extends KubeObject>({ kind, name }: ObjectRef): Promise<T> => {
    if (kind !== "Gauge") return CRD as T;
    this.stored.push(name);
    if (name === this.rejected) throw new KubeError("frozen", { status: 422, reason: "Invalid" });
    return CRD as T;
  };

  async migrate(): Promise<StorageMigrationProgress[]> {
    const reported: StorageMigrationProgress[] = [];
    const count = await migrateStorage(this, CRD, {
      rate: 1e9,
      signal: AbortSignal.timeout(60_000),
      report: (one) => void reported.push(one),
    });
    return [...reported, count];
  }
}

/** Each list yields one page more than the list before. */
function growingLists(): () => number {
  let pages = 0;
  return () => ++pages;
}

test("migrateStorage stores each custom resource once when the list expires more often than it may without progress", async () => {
  const pages = 23;
  const api = new GaugeApi(pages * 500, growingLists());
  api.rejected = "g7";
  const reported = await api.migrate();
  expect(api.stored).toHaveLength(pages * 500);
  expect(new Set(api.stored).size).toBe(pages * 500);
  expect(reported.at(-1)).toEqual({ migrated: pages * 500 - 1, failed: 1, errors: ["g7: frozen"] });
  expect(new Set(reported.slice(0, -1).map(({ total }) => total))).toEqual(new Set([pages * 500]));
});

test("migrateStorage fails when the list expires again and again without progress", async () => {
  const api = new GaugeApi(1_500, () => 2);
  await expect(api.migrate()).rejects.toThrow("expired");
  expect(api.stored).toHaveLength(1_000);
});
