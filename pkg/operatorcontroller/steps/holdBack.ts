import type { Step } from "../../controller/reconcile.ts";
import { heldUntil } from "../../release/rollbackBackoff.ts";
import type { PassFacts } from "../facts.ts";
import { heldFrom, type RollbackDependencies } from "../releases/rollback.ts";
import { installedFrom } from "./retrieveReleases.ts";
import { inputDigest } from "./unpackBundle.ts";

/** What holding back needs from the outside. */
export interface HoldBackDependencies extends Pick<RollbackDependencies, "catalogContent" | "now"> {
  /** Queues an extension again after some milliseconds. */
  comeBack: (extension: string, afterMs: number) => void;
}

/** Keeps a bundle that was given up from being tried again, until spec, bundle or catalog change or its wait is over. */
export function holdBack({ catalogContent, now, comeBack }: HoldBackDependencies): Step<PassFacts["extension"], PassFacts> {
  return {
    name: "HoldBack",
    run(facts, { log }) {
      const { extension, resolved, history } = facts;
      const [latest] = history.current;
      const given = latest?.rolledBack;
      if (!resolved || !latest || !given || facts.pinned) return Promise.resolve(undefined);
      const generation = extension.metadata.generation ?? 0;
      const attempt = { inputDigest: inputDigest(facts), generation, catalog: catalogContent(resolved.catalog) };
      const until = heldUntil(given, attempt, now());
      if (until === undefined) {
        log.info({ bundle: resolved.name, attempts: given.attempts }, "bundle that was given up is tried again");
        return Promise.resolve(undefined);
      }
      facts.held = heldFrom(given, installedFrom(latest).name);
      comeBack(extension.metadata.name, until - now());
      return Promise.resolve(undefined);
    },
  };
}
