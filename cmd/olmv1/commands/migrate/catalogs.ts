import { MIGRATION_FIELD_MANAGER } from "../../../../pkg/api/migration.ts";
import { toYaml } from "../../../../pkg/golang/yaml.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { type SurveyedSource, surveySources } from "../../../../pkg/migrate/surveySources.ts";
import type { Mood } from "../../../../pkg/rollout/mood.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import { print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { waitUntilServed } from "../catalog/add.ts";
import type { CatalogsOptions } from "./migrateOptions.ts";

/** The result for one CatalogSource. */
interface CreatedCatalogs {
  readonly isServed: boolean;
  /** Why the catalog is not served. */
  readonly because?: string | undefined;
}

const HEAD = ["NAMESPACE", "CATALOGSOURCE", "STATE", "CLUSTERCATALOG"];
const MOODS: Readonly<Record<SurveyedSource["state"], Mood>> = { Convertible: "good", Present: "faint", Conflict: "bad", Refused: "bad" };

/** Runs `olmv1 migrate catalogs`. */
export async function showCatalogs(terminal: Terminal, names: readonly string[], options: CatalogsOptions): Promise<void> {
  const { namespace, output, yes = false, timeout, name: catalogName } = options;
  const { signal } = terminal;
  const createdCatalogs = new Map<SurveyedSource, CreatedCatalogs>();
  const found = await withReader(
    options,
    (reader) =>
      withCluster(options, async (client) => {
        const sources = await withProgress(terminal, "reading CatalogSources", (progress) =>
          surveySources({ client, reader, names, namespace, catalogName, signal, report: (what) => progress.now(what) }),
        );
        if (yes) for (const one of sources) if (one.catalog) createdCatalogs.set(one, await createCatalog(terminal, client, one, timeout));
        return sources;
      }),
    terminal.signal,
  );
  await print(terminal, output, {
    data: { items: found.map((one) => buildData(one, createdCatalogs.get(one))) },
    text: () => formatText(terminal, found, createdCatalogs, yes),
  });
  const isLeft = (one: SurveyedSource): boolean =>
    (yes ? createdCatalogs.get(one)?.isServed === false : false) || one.state === "Conflict" || one.state === "Refused";
  if (found.some(isLeft)) terminal.exit(EXIT.no);
}

async function createCatalog(terminal: Terminal, client: Client, { catalog }: SurveyedSource, timeout: number): Promise<CreatedCatalogs> {
  if (!catalog) return { isServed: false };
  const created = await client.create(catalog, { fieldManager: MIGRATION_FIELD_MANAGER, signal: terminal.signal });
  const { because } = await waitUntilServed(terminal, client, created, timeout);
  return because === undefined ? { isServed: true } : { isServed: false, because };
}

function buildData({ source, state, text, next, catalog, notes }: SurveyedSource, createdCatalogs: CreatedCatalogs | undefined): unknown {
  return {
    namespace: source.namespace,
    catalogSource: source.name,
    state,
    ...(text === "" ? {} : { message: text }),
    ...(next === "" ? {} : { next }),
    ...(catalog ? { clusterCatalog: catalog } : {}),
    notes,
    ...(createdCatalogs
      ? { served: createdCatalogs.isServed, ...(createdCatalogs.because === undefined ? {} : { because: createdCatalogs.because }) }
      : {}),
  };
}

function formatText(
  terminal: Terminal,
  found: readonly SurveyedSource[],
  createdCatalogs: ReadonlyMap<SurveyedSource, CreatedCatalogs>,
  yes: boolean,
): string {
  if (found.length === 0) return "no CatalogSources found\n";
  const rows = found.map(({ source, state, catalog }) => [
    source.namespace,
    source.name,
    { text: state, mood: MOODS[state] },
    catalog?.metadata.name ?? "",
  ]);
  const details = found.map((one) => formatDetail(one, createdCatalogs.get(one), yes)).filter((text) => text !== "");
  const isOpen = !yes && found.some(({ catalog }) => catalog !== undefined);
  const next = isOpen ? "\nNo changes were made. Run the command with --yes to create the ClusterCatalogs.\n" : "";
  return formatTable(terminal, HEAD, rows) + details.map((text) => `\n${text}`).join("") + next;
}

function formatDetail(
  { source, text, next, catalog, notes }: SurveyedSource,
  createdCatalogs: CreatedCatalogs | undefined,
  yes: boolean,
): string {
  const lines = [
    ...(text === "" ? [] : [text]),
    ...(next === "" ? [] : [`  next: ${next}`]),
    ...notes.map((note) => `note: ${note}`),
    ...(createdCatalogs
      ? [createdCatalogs.isServed ? "created and served" : `created but not served: ${createdCatalogs.because ?? "unknown"}`]
      : []),
  ];
  if (lines.length === 0 && !catalog) return "";
  const manifest = catalog && !yes ? `---\n${toYaml(catalog)}` : "";
  return `${source.namespace}/${source.name}\n${lines.map((line) => `  ${escapeControlCharacters(line)}\n`).join("")}${manifest}`;
}
