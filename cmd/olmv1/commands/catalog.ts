import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addAddBundle } from "./catalog/addBundle.ts";
import { addBuild } from "./catalog/build.ts";
import { addCompose } from "./catalog/compose.ts";
import { addDeprecate } from "./catalog/deprecate.ts";
import { addDiff } from "./catalog/diff.ts";
import { addDockerfile } from "./catalog/dockerfile.ts";
import { addEdgeCommands } from "./catalog/edge.ts";
import { addExtract } from "./catalog/extract.ts";
import { addImages } from "./catalog/images.ts";
import { addMigrate } from "./catalog/migrate.ts";
import { addMirror } from "./catalog/mirror.ts";
import { addPromote } from "./catalog/promote.ts";
import { addPush } from "./catalog/push.ts";
import { addRender } from "./catalog/render.ts";
import { addServe } from "./catalog/serve.ts";
import { addSetDefaultChannel } from "./catalog/setDefaultChannel.ts";
import { addSkip } from "./catalog/skip.ts";
import { addTemplate } from "./catalog/template.ts";
import { addValidate } from "./catalog/validate.ts";
import { addZstream } from "./catalog/zstream.ts";

/** Adds `olmv1 catalog`: tools for file-based catalogs. */
export function addCatalog(program: Command, terminal: Terminal): void {
  const catalog = program.command("catalog").description("work with file-based catalogs");
  addValidate(catalog, terminal);
  addRender(catalog, terminal);
  addTemplate(catalog, terminal);
  addCompose(catalog, terminal);
  addDockerfile(catalog, terminal);
  addMigrate(catalog, terminal);
  addBuild(catalog, terminal);
  addPush(catalog, terminal);
  addMirror(catalog, terminal);
  addServe(catalog, terminal);
  addAddBundle(catalog, terminal);
  addDeprecate(catalog, terminal);
  addPromote(catalog, terminal);
  addSetDefaultChannel(catalog, terminal);
  addEdgeCommands(catalog, terminal);
  addSkip(catalog, terminal);
  addZstream(catalog, terminal);
  addExtract(catalog, terminal);
  addImages(catalog, terminal);
  addDiff(catalog, terminal);
}
