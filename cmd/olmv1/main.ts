#!/usr/bin/env node
import { messageOf } from "../../pkg/errors/errors.ts";
import { olmv1 } from "./olmv1.ts";

// Whoever reads the output may have seen enough of it, as `head` has.
process.stdout.on("error", (err: NodeJS.ErrnoException) => {
  if (err.code !== "EPIPE") throw err;
  process.exit();
});

await olmv1()
  .parseAsync()
  .catch((err: unknown) => {
    process.stderr.write(`olmv1: ${messageOf(err)}\n`);
    process.exitCode = 1;
  });
