import { bundleDetails, kindOfExample } from "../../../pkg/fbc/summary/bundleDetails.ts";
import { toYaml } from "../../../pkg/golang/yaml.ts";
import { type Output, print } from "../cli/output.ts";
import type { Terminal } from "../cli/terminal.ts";
import { installedHere } from "./installedHere.ts";
import { firstWith, type PackageIn, withPackage } from "./packageIn.ts";
import { packageText } from "./packageText.ts";
import { bundleAsked, packageView } from "./packageView.ts";
import type { SourceOptions } from "./sourceOptions.ts";

/** How `olmv1 show` can be asked. */
export interface ShowOptions extends SourceOptions {
  channel?: string;
  /** True for all of them, or the kind of those that are wanted. */
  examples?: true | string;
  output: Output;
}

/** `olmv1 show`. @param text a package, or PACKAGE@VERSION. */
export async function show(terminal: Terminal, text: string, options: ShowOptions): Promise<void> {
  const { name, version } = packageAndVersion(text);
  if (version !== undefined && options.channel !== undefined) throw new Error("name a version or --channel, not both");
  await withPackage(terminal, name, options, async (all, { client, signal }) => {
    const { found, asked: bundle } = firstWith(all, (one) => bundleAsked(one, { version, channel: options.channel }));
    if (options.examples !== undefined) {
      const examples = examplesOf(found, bundle.name, options.examples === true ? undefined : options.examples);
      await print(terminal, options.output, { data: examples, text: () => examples.map((one) => `---\n${toYaml(one)}`).join("") });
      return;
    }
    const view = packageView(
      found,
      bundle,
      all.filter((one) => one !== found),
    );
    const installed = (await installedHere(client, signal))?.filter((one) => one.package === name) ?? [];
    await print(terminal, options.output, {
      data: { ...view, ...(client ? { installed } : {}) },
      text: () => packageText(terminal, view, { installed, isWide: false }),
      wide: () => packageText(terminal, view, { installed, isWide: true }),
      names: () => [view.version.bundle],
    });
  });
}

/** The two parts of PACKAGE@VERSION. @throws Error where one of them is empty. */
export function packageAndVersion(text: string): { name: string; version?: string } {
  const at = text.indexOf("@");
  const [name, version] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  if (name === "" || version === "") throw new Error(`${JSON.stringify(text)} is not written as PACKAGE or PACKAGE@VERSION`);
  return version === undefined ? { name } : { name, version };
}

/** @throws Error where there is none to print. */
function examplesOf({ metas, name, catalog }: PackageIn, bundle: string, kind: string | undefined): readonly object[] {
  const meta = metas.find((one) => one.schema === "olm.bundle" && one.name === bundle);
  const examples = meta && bundleDetails(meta, { examples: true }).examples;
  if (examples === undefined)
    throw new Error(`catalog ${catalog} keeps no examples of ${bundle}; they may be in its image: olmv1 show ${name} tells which that is`);
  const wanted = kind === undefined ? examples : examples.filter((one) => kindOfExample(one).toLowerCase() === kind.toLowerCase());
  if (wanted.length > 0) return wanted;
  const kinds = [...new Set(examples.map(kindOfExample))].join(", ");
  throw new Error(
    kind === undefined || kinds === ""
      ? `${bundle} has no examples`
      : `${bundle} has no example of kind ${JSON.stringify(kind)}; there are ${kinds}`,
  );
}
