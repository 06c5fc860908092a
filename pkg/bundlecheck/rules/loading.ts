import type { BundleFiles } from "../../bundle/types.ts";
import { messageOf } from "../../errors/errors.ts";
import type { BundleContent } from "../content.ts";
import { type Breach, error, type RuleTable } from "../rule.ts";
import { Source } from "../source.ts";

/** What must be there, and be readable, before anything else can be looked at. */
export const LOADING_RULES: RuleTable = {
  unreadable: error("Every file of the bundle can be read, and what is needed is there.", Source.controller, unreadable),
  "csv-count": error("There is exactly one ClusterServiceVersion.", Source.format, csvCount),
};

function unreadable({ files, unreadable: parts, loaded }: BundleContent): Breach[] {
  const breaches = parts.map(({ file, message }) => ({ message, at: { file } }));
  if (!(loaded instanceof Error) || parts.some(({ message }) => message === loaded.message)) return breaches;
  return [...breaches, { message: messageOf(loaded), ...fileNamed(loaded.message, files) }];
}

/** The file that a message begins with. */
function fileNamed(message: string, files: BundleFiles): Pick<Breach, "at"> {
  const file = message.split(":", 1)[0] ?? "";
  return files.has(file) ? { at: { file } } : {};
}

function csvCount({ csvs }: BundleContent): Breach[] {
  return csvs.slice(1).map((manifest) => ({
    message: `ClusterServiceVersion "${manifest.object.metadata?.name ?? ""}" is one of ${csvs.length}: a bundle holds one, and only the last of them would be installed`,
    at: { manifest },
  }));
}
