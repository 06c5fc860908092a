import type { ClusterCatalog } from "../../../../pkg/api/clusterCatalog.ts";
import { answerResolution } from "../../../../pkg/preview/resolutionAnswers.ts";
import type { Named } from "../../../../pkg/preview/resolutionSubject.ts";
import type { ResolutionOptions } from "../../cli/catalogOptions.ts";
import type { ClusterOptions, RegistryOptions } from "../../cli/options.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { withResolutionSubject } from "../resolutionSubject.ts";
import { formatResolutionAnswer } from "../resolve.ts";

/** Options that select a bundle of a package or an extension. */
export interface SelectionOptions extends ClusterOptions, RegistryOptions {
  version?: string;
  channel: string[];
  catalogDir: string[];
}

/** The selected bundle. */
export interface SelectedBundle {
  readonly name: string;
  readonly image: string;
  /** The ClusterCatalog that contains it; undefined if it is in --catalog-dir. */
  readonly catalog: ClusterCatalog | undefined;
  /** Whether the user specified `image`, so that it can also be a folder or OCI layout. Default: false. */
  readonly isGiven?: boolean;
}

/** Resolves a bundle as operator-controller does. @returns undefined if no bundle matches, after printing why */
export async function selectBundle(terminal: Terminal, named: Named, options: SelectionOptions): Promise<SelectedBundle | undefined> {
  // Other options of the command, such as the file with a policy, mean something else to a resolution.
  const { kubeconfig, context, registriesConf, signaturePolicy, authFile, version, channel, catalogDir } = options;
  const request: ResolutionOptions = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(registriesConf === undefined ? {} : { registriesConf }),
    ...(signaturePolicy === undefined ? {} : { signaturePolicy }),
    ...(authFile === undefined ? {} : { authFile }),
    ...(version === undefined ? {} : { version }),
    channel,
    catalogDir,
    catalog: [],
    installedPackage: [],
    output: "text",
  };
  return withProgress(terminal, `resolving ${named.package ?? named.extension ?? ""}`, () =>
    withResolutionSubject(terminal, named, request, async (question) => {
      const answer = await answerResolution(question);
      const { resolution } = answer;
      if (resolution.kind === "resolved") {
        const { name, image } = resolution.bundle;
        const isOnCluster = catalogDir.length === 0;
        const catalog = isOnCluster ? question.catalogs.find(({ metadata }) => metadata.name === resolution.catalog) : undefined;
        return { name, image, catalog };
      }
      terminal.err(formatResolutionAnswer(answer, question.subject, false, terminal.width));
      return undefined;
    }),
  );
}
