import { CertificateProviders } from "../../../../pkg/operatorcontroller/apply/certificateProviders.ts";
import { previewPermissions, toPreviewData } from "../../../../pkg/preview/permissionPreview.ts";
import { readExtension } from "../../../../pkg/rollout/extensions.ts";
import { withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ReleaseOptions } from "../../cli/options.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { formatPreview } from "../permissionsText.ts";
import { type SelectionOptions, selectBundle } from "./selectBundle.ts";

/** Options of `olmv1 permissions diff`. */
export interface DiffPermissionsOptions extends ReleaseOptions, SelectionOptions {
  output: Output;
}

/** Runs `olmv1 permissions diff`. */
export async function showPermissionsDiff(terminal: Terminal, name: string, options: DiffPermissionsOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const selected = await selectBundle(terminal, { extension: name }, options);
    if (!selected) return terminal.exit(EXIT.no);
    const { systemNamespace } = options;
    const preview = await withProgress(terminal, `pulling ${selected.image}`, () =>
      withReader(
        options,
        async (reader) => {
          const bundle = await reader.bundleImage(selected.image);
          const providers = new CertificateProviders(client, "auto");
          return previewPermissions({ client, extension, bundle, catalog: selected.catalog, providers, systemNamespace });
        },
        terminal.signal,
      ),
    );
    if (!preview)
      throw new Error(
        `the extension uses ServiceAccount "${extension.spec.serviceAccount?.name ?? ""}", whose permissions you grant: see olmv1 rbac --diff`,
      );
    const installed = extension.status?.install?.bundle.name ?? "none";
    await print(terminal, options.output, {
      data: { extension: name, installed, bundle: selected.name, ...toPreviewData(preview) },
      text: () => [`from ${installed} to ${selected.name}`, "", ...formatPreview(terminal, preview, name), ""].join("\n"),
    });
    return preview.state === "Granted" ? undefined : terminal.exit(EXIT.no);
  });
}
