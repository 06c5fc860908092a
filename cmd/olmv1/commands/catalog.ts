import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addAdd } from "./catalog/add.ts";
import { addAddBundle } from "./catalog/addBundle.ts";
import { addBuild } from "./catalog/build.ts";
import { addCompose } from "./catalog/compose.ts";
import { addDeprecate } from "./catalog/deprecate.ts";
import { addDiff } from "./catalog/diff.ts";
import { addDockerfile } from "./catalog/dockerfile.ts";
import { addEdgeCommands } from "./catalog/edge.ts";
import { addExtract } from "./catalog/extract.ts";
import { addImages } from "./catalog/images.ts";
import { addCatalogGet, addCatalogList } from "./catalog/list.ts";
import { addMigrate } from "./catalog/migrate.ts";
import { addMirror } from "./catalog/mirror.ts";
import { addPromote } from "./catalog/promote.ts";
import { addPush } from "./catalog/push.ts";
import { addCatalogRemove } from "./catalog/remove.ts";
import { addRender } from "./catalog/render.ts";
import { addCatalogSearch } from "./catalog/search.ts";
import { addServe } from "./catalog/serve.ts";
import { addSetDefaultChannel } from "./catalog/setDefaultChannel.ts";
import { addSkip } from "./catalog/skip.ts";
import { addTemplate } from "./catalog/template.ts";
import { addValidate } from "./catalog/validate.ts";
import { addZstream } from "./catalog/zstream.ts";

/** Adds `olmv1 catalog`: catalogs of the cluster, and tools for file-based catalogs. */
export function addCatalog(program: Command, terminal: Terminal): void {
  const catalog = program.command("catalog").description("work with catalogs of the cluster, and with file-based catalogs");
  catalog.commandsGroup("Catalogs of the cluster:");
  addAdd(catalog, terminal);
  addCatalogList(catalog, terminal);
  addCatalogGet(catalog, terminal);
  addCatalogRemove(catalog, terminal);
  addCatalogSearch(catalog, terminal);

  catalog.commandsGroup("Make a catalog:");
  addRender(catalog, terminal);
  addTemplate(catalog, terminal);
  addCompose(catalog, terminal);
  addMigrate(catalog, terminal);
  addExtract(catalog, terminal);

  catalog.commandsGroup("Edit its files:");
  addAddBundle(catalog, terminal);
  addPromote(catalog, terminal);
  addDeprecate(catalog, terminal);
  addSetDefaultChannel(catalog, terminal);
  addEdgeCommands(catalog, terminal);
  addSkip(catalog, terminal);
  addZstream(catalog, terminal);

  catalog.commandsGroup("Check it:");
  addValidate(catalog, terminal);
  addDiff(catalog, terminal);
  addImages(catalog, terminal);
  addServe(catalog, terminal);

  catalog.commandsGroup("Publish it:");
  addBuild(catalog, terminal);
  addPush(catalog, terminal);
  addMirror(catalog, terminal);
  addDockerfile(catalog, terminal);
}
