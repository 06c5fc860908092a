import type { CatalogOffers } from "./catalogOffers.ts";
import { type Conversion, planConversion } from "./conversion.ts";
import { type Session, settingsOf } from "./session.ts";
import { type Surveyed, survey } from "./survey.ts";

/** A Subscription that is looked at again, and what converting it would do; nothing of the latter where it is not eligible. */
export interface PlannedConversion {
  readonly surveyed: Surveyed;
  readonly conversion?: Conversion;
}

/**
 * What converting a Subscription that was not begun would do.
 * @param offers what catalogs were found to say before; otherwise they are read.
 * @throws Error where there is none of that name, or several.
 */
export async function plannedConversion(
  { terminal, options, client, reader, progress }: Session,
  { name, namespace }: { name: string; namespace: string | undefined },
  known?: CatalogOffers,
): Promise<PlannedConversion> {
  const { catalogDir, serviceAccount, createServiceAccount, name: extensionName } = options;
  const { found, offers } = await survey({
    client,
    reader,
    names: [name],
    namespace,
    catalogDir,
    offers: known,
    extensionName,
    serviceAccount: serviceAccount ?? (createServiceAccount === true ? undefined : createServiceAccount),
    signal: terminal.signal,
    tell: (what) => progress.now(what),
  });
  const surveyed = onlyOne(found, name);
  if (!surveyed.eligible) return { surveyed };
  progress.now(`comparing the bundle with what is installed of ${surveyed.namespace}/${name}`);
  const settings = settingsOf({ terminal, options, client, reader }, offers, serviceAccount === undefined);
  return { surveyed, conversion: await planConversion(surveyed.eligible, settings) };
}

function onlyOne(found: readonly Surveyed[], name: string): Surveyed {
  const [one, ...others] = found;
  if (one && others.length === 0) return one;
  throw new Error(`there are Subscriptions "${name}" in several namespaces: say which with --namespace`);
}
