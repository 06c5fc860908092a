import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addBuild } from "./catalog/build.ts";
import { addCompose } from "./catalog/compose.ts";
import { addDockerfile } from "./catalog/dockerfile.ts";
import { addMigrate } from "./catalog/migrate.ts";
import { addMirror } from "./catalog/mirror.ts";
import { addPush } from "./catalog/push.ts";
import { addRender } from "./catalog/render.ts";
import { addServe } from "./catalog/serve.ts";
import { addTemplate } from "./catalog/template.ts";
import { addValidate } from "./catalog/validate.ts";

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
}
