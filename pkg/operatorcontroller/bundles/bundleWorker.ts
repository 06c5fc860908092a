import { serialize } from "node:v8";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { listMovable, serveTasks, type TaskResponse } from "../../async/taskThread.ts";
import { summarizeBundle } from "../../bundle/bundleSummary.ts";
import { loadBundle } from "../../bundle/load.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import { CERTIFICATE_PROVIDERS } from "../../certificates/providers.ts";
import { findTerminalError, getErrorMessage, getProblems, ReconcileError } from "../../errors/errors.ts";
import { renderBundle } from "../../render/render.ts";
import type { BundleRequest, BundleResponse, EncodedObject } from "./bundleCache.ts";

// Runs in the worker thread that `bundleCache.ts` starts.

/** Caches the most recently loaded bundle. */
class BundleWorker {
  #digest: string | undefined;
  #bundle: RegistryV1Bundle | undefined;

  serve(request: BundleRequest): TaskResponse<BundleResponse> {
    try {
      return request.kind === "load" ? this.#load(request) : this.#render(request);
    } catch (err) {
      const reason = err instanceof ReconcileError ? err.reason : Reason.Retrying;
      const problems = [...getProblems(err)];
      return {
        response: { kind: "failed", terminal: findTerminalError(err) !== undefined, reason, message: getErrorMessage(err), problems },
      };
    }
  }

  #load({ digest, files }: BundleRequest & { kind: "load" }): TaskResponse<BundleResponse> {
    this.#bundle = undefined;
    this.#bundle = loadBundle(files);
    this.#digest = digest;
    return { response: { kind: "loaded", summary: summarizeBundle(this.#bundle) } };
  }

  #render({ digest, options: { certProvider: name, ...options } }: BundleRequest & { kind: "render" }): TaskResponse<BundleResponse> {
    if (!this.#bundle || this.#digest !== digest) return { response: { kind: "unknown" } };
    const certProvider = CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
    const objects = renderBundle(this.#bundle, { ...options, certProvider }).map(encode);
    return { response: { kind: "rendered", objects }, transfer: listMovable(objects.map(({ bytes }) => bytes)) };
  }
}

function encode(object: KubeObject): EncodedObject {
  try {
    return { format: "json", bytes: new TextEncoder().encode(JSON.stringify(object)) };
  } catch {
    // JSON does not support bigint.
    return { format: "v8", bytes: new Uint8Array(serialize(object)) };
  }
}

const worker = new BundleWorker();
serveTasks((request) => worker.serve(request as BundleRequest));
