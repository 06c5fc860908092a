import type { Command } from "commander";
import type { Terminal } from "../cli/terminal.ts";
import { addBuild } from "./bundle/build.ts";
import { addConfigSchema } from "./bundle/configSchema.ts";
import { addPush } from "./bundle/push.ts";
import { addRender } from "./bundle/render.ts";
import { addValidate } from "./bundle/validate.ts";
import { addRbac } from "./rbac.ts";

/** Adds `olmv1 bundle`: tools for the authors of bundles and those who install them. */
export function addBundle(program: Command, terminal: Terminal): void {
  const bundle = program.command("bundle").description("work with registry+v1 bundles");
  addValidate(bundle, terminal);
  addRender(bundle, terminal);
  addConfigSchema(bundle, terminal);
  addBuild(bundle, terminal);
  addPush(bundle, terminal);
  addRbac(bundle, terminal);
}
