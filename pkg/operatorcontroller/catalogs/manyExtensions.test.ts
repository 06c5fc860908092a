import { expect, test } from "vitest";
import { contentFrom } from "../../../test/support/catalogFixture.ts";
import { createCatalog } from "../../../test/support/catalogs.ts";
import { dependencyWorld } from "../../../test/support/dependencyFixture.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildAuthenticated, runStep } from "../../../test/support/phases.ts";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { resolveBundle } from "../reconcile/resolve.ts";
import { CatalogPackages, findAffectedExtensions } from "./catalogPackages.ts";

const EXTENSIONS = 1_000;
const PACKAGES = 250;
const CATALOGS = ["a", "b", "c", "d", "e"];

/** Five catalogs with the same packages, and extensions for these packages whose last reconcile succeeded. */
class ManyExtensions {
  readonly editions = new Map(CATALOGS.map((name) => [name, 1]));
  /** "catalog package", in the order in which they were read. */
  reads: string[] = [];
  readonly contents = new CatalogPackages({
    packageContent: (base, _ref, packageName) => {
      const catalog = base.slice(base.lastIndexOf("/") + 1);
      this.reads.push(`${catalog} ${packageName}`);
      const patch = this.editions.get(catalog) ?? 0;
      return Promise.resolve(contentFrom({ bundles: [`${packageName}.v1.0.${patch}`] }, packageName));
    },
  });
  readonly extensions = Array.from({ length: EXTENSIONS }, (_, i) => newExtension(`x${i}`, `p${i % PACKAGES}`));
  readonly step = resolveBundle({
    now: Date.now,
    catalogs: { list: () => CATALOGS.map((name) => this.catalog(name)) },
    contents: this.contents,
    choice: dependencyWorld().choice,
  });

  catalog(name: string): ClusterCatalog {
    return createCatalog(name, { digest: `quay.io/${name}@sha256:${this.editions.get(name)}`, priority: CATALOGS.indexOf(name) });
  }

  async resolve(extension: ClusterExtension): Promise<string | undefined> {
    const { next } = await runStep(this.step, buildAuthenticated(extension));
    return next?.bundle.version;
  }
}

function newExtension(name: string, packageName: string): ClusterExtension {
  const extensions = createExtension(name, { packageName });
  const condition = { type: "Progressing", status: "True" as const, reason: "Succeeded", message: "", observedGeneration: 1 };
  const status = {
    conditions: [{ ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" }],
    install: { bundle: { name: `${packageName}.v1.0.1`, version: "1.0.1" } },
  };
  return { ...extensions, metadata: { ...extensions.metadata, generation: 1 }, status };
}

test("CatalogPackages reads each package once for a thousand extensions and five catalogs, and again only when its catalog changes", async () => {
  const many = new ManyExtensions();
  const all = (): Promise<(string | undefined)[]> => Promise.all(many.extensions.map((extension) => many.resolve(extension)));
  expect(new Set(await all())).toEqual(new Set(["1.0.1"]));
  expect([many.reads.length, new Set(many.reads).size]).toEqual([PACKAGES * CATALOGS.length, PACKAGES * CATALOGS.length]);
  many.reads = [];
  const before = many.catalog("e").status?.resolvedSource?.image?.ref;
  many.editions.set("e", 2);
  const concerned: string[] = [];
  await findAffectedExtensions({ catalog: many.catalog("e"), before }, many.extensions, many.contents, (name) => concerned.push(name));
  expect(concerned).toHaveLength(EXTENSIONS);
  expect(new Set(await all())).toEqual(new Set(["1.0.2"]));
  expect(many.reads.toSorted()).toEqual(Array.from({ length: PACKAGES }, (_, i) => `e p${i}`).sort());
  many.reads = [];
  await all();
  expect(many.reads).toEqual([]);
});
