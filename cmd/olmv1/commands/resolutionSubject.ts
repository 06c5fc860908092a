import type { Sources } from "../../../pkg/preview/catalogSelection.ts";
import { addCurrentStatus, findNamedExtension, type Named, readResolutionSubject } from "../../../pkg/preview/resolutionSubject.ts";
import type { ResolutionSubject } from "../../../pkg/preview/resolveWithDependencies.ts";
import { withReader } from "../../../pkg/sources/bundleReader.ts";
import type { ResolutionOptions } from "../cli/catalogOptions.ts";
import { withCluster } from "../cli/cluster.ts";
import { readExtensionFile } from "../cli/inputFiles.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Maximum time for all pulls and requests together, in milliseconds. */
const TIMEOUT_MS = 15 * 60_000;

/**
 * Calls `answer` with the resolution request from arguments and options. Settings that the options omit are read from the cluster.
 * @throws Error that describes what cannot be found or read.
 */
export async function withResolutionSubject<T>(
  terminal: Pick<Terminal, "stdin" | "signal">,
  named: Named,
  options: ResolutionOptions,
  answer: (question: ResolutionSubject) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const isOffline = options.catalogDir.length > 0 && named.extension === undefined;
  const ask = async (sources: Sources): Promise<T> => {
    const extension =
      options.filename === undefined
        ? await findNamedExtension(named, sources.client)
        : await addCurrentStatus(await readExtensionFile(options.filename, terminal), sources.client);
    return answer(await readResolutionSubject(named, extension, options, sources));
  };
  return withReader(
    options,
    async (reader) => {
      if (isOffline) return ask({ client: undefined, reader, signal });
      if (options.installedPackage.length > 0)
        throw new Error("--installed-package requires --catalog-dir, and cannot be used with an extension on the cluster");
      return withCluster(options, (client) => ask({ client, reader, signal }));
    },
    signal,
  );
}
