import { serveTasks } from "../../async/taskThread.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { StepLimitError } from "../../resolve/constraint/stepBudget.ts";
import { findHint } from "../../resolve/dependencies/remedySearch.ts";
import {
  buildCandidate,
  buildWorld,
  listWorldProperties,
  type PackagePart,
  type PlainWorld,
  type SearchWorld,
  toPlainHint,
} from "../../resolve/dependencies/searchWorld.ts";
import { StepCounter } from "../../resolve/solver/stepCounter.ts";
import { ConstraintCache, loadCelRules } from "./constraintCache.ts";
import type { HintThreadRequest, HintThreadResponse } from "./hintSearch.ts";

// Runs in the worker thread that `hintSearch.ts` starts.

/** The world of the last search, and its bundles that have arrived. */
interface KnownWorld {
  readonly id: number;
  readonly world: PlainWorld;
  readonly parts: PackagePart[];
  built?: SearchWorld;
}

/** Caches the last world, because several candidates of an extension are searched in it. */
class HintWorker {
  readonly #constraints = new ConstraintCache(loadCelRules);
  #known: KnownWorld | undefined;

  async serve(request: HintThreadRequest): Promise<HintThreadResponse> {
    if (request.kind === "world") {
      this.#known = { id: request.id, world: request.world, parts: [] };
      return { kind: "accepted" };
    }
    const known = this.#known?.id === request.id ? this.#known : undefined;
    if (!known) return { kind: "unknown" };
    if (request.kind === "find") return this.#find(request, known);
    known.parts.push(...request.parts);
    return { kind: "accepted" };
  }

  async #find({ bundle, canUpdate }: HintThreadRequest & { kind: "find" }, known: KnownWorld): Promise<HintThreadResponse> {
    const { read } = this.#constraints;
    const counter = new StepCounter();
    try {
      await this.#constraints.prepare([bundle.properties, ...listWorldProperties(known.world, known.parts)]);
      const hint = this.#constraints.bounded(() => {
        const { context, reachable } = (known.built ??= buildWorld(known.world, known.parts, read));
        const found = findHint(buildCandidate(bundle, read), context, reachable, { canUpdate, counter });
        return toPlainHint(found, reachable.index);
      });
      return { kind: "found", hint, steps: counter.steps };
    } catch (err) {
      if (err instanceof StepLimitError) return { kind: "stepLimit", limit: err.limit, costliest: err.costliest };
      return { kind: "failed", message: getErrorMessage(err) };
    }
  }
}

const worker = new HintWorker();
serveTasks(async (request) => ({ response: await worker.serve(request as HintThreadRequest) }));
