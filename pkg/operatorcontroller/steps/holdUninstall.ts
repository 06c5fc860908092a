import { ANNOTATION_FORCE_UNINSTALL, Reason } from "../../api/constants.ts";
import { RetryableError } from "../../errors/errors.ts";
import type { Dependent } from "../../resolve/dependencies/dependents.ts";
import type { Dependents } from "../dependencies/dependents.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory } from "../memory.ts";
import { WaitingError } from "../waiting.ts";

/** What holding up an uninstall needs from the outside. */
export interface HoldDependencies {
  dependents: Pick<Dependents, "of">;
  memory: ExtensionMemory;
}

/** Dependents that are named, and constraints of one. */
const MAX_NAMED = 5;
const MAX_NEEDS = 3;
/** Longest time between two looks; they cost no request, or one that many share. */
const LOOK_MS = 1_000;

/**
 * Lets an uninstall begin: not while installed bundles of other extensions depend on what would go, unless it is annotated with
 * force-uninstall "true". One that has begun is not held up any more.
 * @throws WaitingError RequiredByOthers that names them and says what to do.
 */
export async function holdUninstall({ dependents, memory }: HoldDependencies, { extension, installed }: PassFacts): Promise<void> {
  const { name, annotations } = extension.metadata;
  const remembered = memory.of(extension);
  if (installed && !remembered.uninstalling && annotations?.[ANNOTATION_FORCE_UNINSTALL] !== "true") {
    const found = await dependents.of(name);
    if (!found)
      throw new RetryableError(Reason.Retrying, "what other extensions have installed, and may need of this one, is still being read");
    if (found.length > 0) {
      const listed = listOf(found);
      const text =
        `not uninstalled, since other extensions depend on bundle "${installed.name}": ${listed}; nothing was removed, and it goes on by itself once they are ` +
        `deleted, need it no longer or have spec.dependencies.policy Ignore; to remove it nevertheless: kubectl annotate clusterextension ${name} ${ANNOTATION_FORCE_UNINSTALL}=true`;
      const isOver = async (): Promise<boolean> => listOf((await dependents.of(name)) ?? []) !== listed;
      throw new WaitingError(Reason.RequiredByOthers, text, { isOver, everyMs: LOOK_MS });
    }
  }
  remembered.uninstalling = true;
}

/** Such as `ClusterExtension "b" (bundle "b.v1.0.0") needs package "a" >=1.0.0`; several with semicolons between them. */
function listOf(found: readonly Dependent[]): string {
  const named = found
    .slice(0, MAX_NAMED)
    .map(({ extension, bundle, needs }) => `ClusterExtension "${extension}" (bundle "${bundle}") needs ${needsOf(needs)}`);
  const more = found.length - MAX_NAMED;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function needsOf(needs: readonly string[]): string {
  const more = needs.length - MAX_NEEDS;
  return `${needs.slice(0, MAX_NEEDS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
