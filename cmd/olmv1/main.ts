#!/usr/bin/env node
import { messageOf } from "../../pkg/errors/errors.ts";
import { olmv1 } from "./olmv1.ts";

await olmv1()
  .parseAsync()
  .catch((err: unknown) => {
    process.stderr.write(`olmv1: ${messageOf(err)}\n`);
    process.exitCode = 1;
  });
