import * as z from "zod/mini";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { EXTENSION_PERMISSIONS } from "../../api/constants.ts";
import { type InstallDraft, InstallForm } from "../../consoleapi/install.ts";
import type { ExtensionPlan } from "../../consoleapi/plan.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { InstallConflict, type InstallConflictKind, previewInstall } from "../../installer/installPreview.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import type { ServedFields } from "../../kube/servedFields.ts";
import { UnresolvedError } from "../../operatorcontroller/reconcile/resolve.ts";
import { readExtensionPlan } from "../../preview/extensionPlan.ts";
import { toSentence } from "../../text/sentence.ts";
import type { ClusterIdentity } from "../cluster/clusterIdentity.ts";
import { isOtherOlm } from "../cluster/extensionFields.ts";
import { type ConsoleContext, type PlanReader, withPlanReader } from "../consoleContext.ts";
import { ConsoleError } from "../http/consoleError.ts";
import type { ConsoleRoutes } from "../http/requestInput.ts";
import { buildExtensionPlan } from "../plan/planView.ts";
import { buildInstallDraft, type DraftedInstall } from "./installDraftView.ts";
import { readEnteredConfig, toInstallRequest } from "./installRequest.ts";

/** Maximum time of a request, in milliseconds: it may pull catalogs and the bundle. */
const TIMEOUT_MS = 120_000;
const PLAN_TIMEOUT_MS = 10 * 60_000;

/** What to do about a conflict with an existing extension. */
const CONFLICT_STEPS: Readonly<Record<InstallConflictKind, string>> = {
  nameTaken: "Choose another name.",
  deleting: "Wait until it is gone.",
  installed: "Change the existing extension: a package can be installed only once.",
  different: "Change the existing extension.",
};

const Params = z.object({ package: z.string().check(z.minLength(1), z.maxLength(253)) });

/** What a computation needs. */
interface InstallWork {
  readonly identity: Pick<ClusterIdentity, "client" | "fields">;
  readonly packageName: string;
  readonly form: InstallForm;
  readonly signal: AbortSignal;
}

/** Registers the preview of installations. Nothing is written: the page applies the manifest with an action. */
export function registerInstallRoutes(server: ConsoleRoutes, context: ConsoleContext): void {
  const previews = new InstallPreviews(context);

  server.route({
    method: "POST",
    url: "/api/packages/:package/install",
    schema: { params: Params, body: InstallForm },
    config: { timeoutMs: TIMEOUT_MS },
    handler: async ({ identity, deadline, params, body }): Promise<InstallDraft> => {
      return previews.draft({ identity, packageName: params.package, form: body, signal: deadline });
    },
  });

  server.route({
    method: "POST",
    url: "/api/packages/:package/install/plan",
    schema: { params: Params, body: InstallForm },
    config: { timeoutMs: PLAN_TIMEOUT_MS },
    handler: async ({ identity, deadline, params, body }): Promise<ExtensionPlan> => {
      return previews.plan({ identity, packageName: params.package, form: body, signal: deadline });
    },
  });
}

/** Previews installations. */
class InstallPreviews {
  readonly #context: ConsoleContext;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  /** Describes what an installation would apply. */
  async draft(work: InstallWork): Promise<InstallDraft> {
    return withPlanReader(this.#context, work.signal, async (reader) => {
      const parts = await this.#preview(work, reader);
      return buildInstallDraft({ ...parts, knownBundle: work.form.knownBundle });
    });
  }

  /** Describes which objects, permissions and dependencies an installation would create. @throws ConsoleError if it cannot be planned */
  async plan(work: InstallWork): Promise<ExtensionPlan> {
    const { systemNamespace } = this.#context.session;
    const { identity, signal } = work;
    return withPlanReader(this.#context, signal, async (reader) => {
      const { preview } = await this.#preview(work, reader);
      const given = preview.preparation?.extension;
      if (!given) throw new ConsoleError("invalid", "cannot plan the installation: no bundle is selected, or the configuration is invalid");
      try {
        const plan = await readExtensionPlan({
          client: identity.client,
          given,
          reader,
          search: this.#context.search,
          systemNamespace,
          webhookCertProvider: "auto",
          proxySettings: { mode: "auto", given: {} },
          log: this.#context.log,
          signal,
        });
        const choice = { change: {}, isChanged: false, command: undefined, isOtherOlm: isOtherOlm(await identity.fields.read()) };
        const view = buildExtensionPlan(plan, given, choice, new Date().toISOString());
        return { ...view, reject: [] };
      } catch (cause) {
        if (!(cause instanceof UnresolvedError)) throw cause;
        throw new ConsoleError("notFound", `cannot plan the installation: no bundle is selected: ${getErrorMessage(cause)}`, { cause });
      }
    });
  }

  async #preview(
    { identity: { client, fields }, packageName, form, signal }: InstallWork,
    reader: PlanReader,
  ): Promise<Omit<DraftedInstall, "knownBundle">> {
    const [isManaged, served] = await Promise.all([hasPermissionManager(client), fields.read()]);
    const permissionSource = isManaged ? "managed" : ignoresAccounts(served) ? "controller" : "account";
    const isConfigurable = served === undefined || served.all.has("spec.config");
    const config = readEnteredConfig(isConfigurable ? form.config : undefined);
    const { search, session } = this.#context;
    const request = toInstallRequest(packageName, form, {
      config,
      permissionSource,
      systemNamespace: session.systemNamespace,
    });
    try {
      return {
        request,
        preview: await previewInstall(client, request, { reader, search, signal }),
        config,
        permissionSource,
        isConfigurable,
      };
    } catch (cause) {
      signal.throwIfAborted();
      if (!(cause instanceof InstallConflict)) throw cause;
      const { kind, reason, extension } = cause;
      throw new ConsoleError("conflict", toSentence(reason), { next: CONFLICT_STEPS[kind], extension, cause });
    }
  }
}

/** Whether the OLM ignores `spec.serviceAccount`: the Go implementation no longer requires it since it ignores it. */
function ignoresAccounts(served: ServedFields | undefined): boolean {
  return isOtherOlm(served) && served?.required.has("spec.serviceAccount") === false;
}

/** Reports whether the cluster has permission-manager: it serves ExtensionPermissions. */
async function hasPermissionManager(client: Pick<Client, "list">): Promise<boolean> {
  try {
    await client.list<ClusterExtension>(EXTENSION_PERMISSIONS, { limit: 1, maxItems: 1, metadataOnly: true });
    return true;
  } catch (err) {
    if (err instanceof KindNotServed) return false;
    if (isForbidden(err)) return true;
    throw err;
  }
}
