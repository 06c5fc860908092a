#!/usr/bin/env node
// What kubectl calls for the completion of kubectl olmv1, as kubectl_complete-olmv1 on the PATH.
process.argv.splice(2, 0, "__complete", "--");
await import("./main.ts");
