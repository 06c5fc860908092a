// Prepares a checkout for `npm start`, `npm test`, other scripts and `npm install --global .`: installs the packages in package-lock.json if they are missing or outdated, and
// checks that the `node` that npm scripts use is recent enough. Runs on Node 20. Prints nothing if there is nothing to do.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const OLDEST_NODE = [22, 19];
const LOCK_MAX_AGE_MS = 15 * 60 * 1000;
const POLL_MS = 250;

const root = join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "..");
const expectedLock = join(root, "package-lock.json");
const installedLock = join(root, "node_modules", ".package-lock.json");
const lockFile = join(tmpdir(), `olmv1-setup-${createHash("sha256").update(root).digest("hex").slice(0, 16)}.lock`);

// Without --global, npm itself has installed the packages before it runs this script as `prepare`.
const { npm_lifecycle_event: script, npm_config_global: isGlobal } = process.env;
if (script === "prepare" && isGlobal !== "true") process.exit();
if (!isInstalled()) {
  takeLock();
  try {
    if (!isInstalled()) install();
  } finally {
    rmSync(lockFile, { force: true });
  }
}
checkNode();

/** npm writes its copy of the lockfile last, so a newer copy means that the installation is complete. */
function isInstalled() {
  return existsSync(installedLock) && statSync(installedLock).mtimeMs >= statSync(expectedLock).mtimeMs;
}

function install() {
  const started = Date.now();
  process.stderr.write("installing the packages in package-lock.json (npm ci)\n");
  const [command, first] = process.env.npm_execpath ? [process.execPath, [process.env.npm_execpath]] : ["npm", []];
  const { npm_config_global: _global, npm_config_location: _location, ...env } = process.env; // npm ci does not accept --global
  const args = [...first, "ci", "--include=dev", "--include=optional", "--no-fund", "--no-audit", "--loglevel=error"];
  const { status, error } = spawnSync(command, args, { cwd: root, env, stdio: ["ignore", 2, 2] });
  if (status !== 0) fail(`npm ci failed${error ? `: ${error.message}` : ""}: the packages are required`);
  // Prevents installing the packages at every start if the lockfile's time is in the future because of a wrong clock.
  const { mtime } = statSync(expectedLock);
  if (existsSync(installedLock) && !isInstalled()) utimesSync(installedLock, mtime, mtime);
  process.stderr.write(`installed in ${Math.round((Date.now() - started) / 1000)} s\n`);
}

/** Checks the version of the `node` that npm scripts use: from node_modules/.bin, else from PATH. */
function checkNode() {
  const packaged = join(root, "node_modules", ".bin", "node");
  const node = existsSync(packaged) ? packaged : "node";
  const { stdout, error } = spawnSync(node, ["--version"], { encoding: "utf8" });
  const version = /^v(\d+)\.(\d+)/.exec(stdout ?? "");
  const [major, minor] = version ? [Number(version[1]), Number(version[2])] : [0, 0];
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  const found = version ? `${node} is ${stdout.trim()}` : `${node} cannot be run here${error ? ` (${error.message})` : ""}`;
  fail(`Node ${OLDEST_NODE.join(".")} or newer is needed, but ${found}; install it (https://nodejs.org) and put it first on PATH`);
}

/** Acquires the installation lock of this checkout. Removes a stale lock, for example of a process that no longer runs. */
function takeLock() {
  for (let reported = false; ; reported = true) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: "wx" });
      return;
    } catch (err) {
      if (err.code !== "EEXIST") throw err;
    }
    const holder = readOr("", () => readFileSync(lockFile, "utf8"));
    if (isStale(holder)) dropLock(holder);
    else {
      if (!reported) process.stderr.write(`process ${holder} is installing packages; waiting\n`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    }
  }
}

function isStale(holder) {
  const age = Date.now() - readOr(Date.now(), () => statSync(lockFile).mtimeMs);
  if (age > LOCK_MAX_AGE_MS) return true;
  if (holder === "") return age > 5000;
  try {
    process.kill(Number(holder), 0);
    return false;
  } catch (err) {
    return err.code === "ESRCH";
  }
}

/** Removes a stale lock. Renames the lock first, and restores it if another process has acquired it meanwhile. */
function dropLock(holder) {
  const aside = `${lockFile}.${process.pid}`;
  try {
    renameSync(lockFile, aside);
  } catch {
    return;
  }
  if (readOr("", () => readFileSync(aside, "utf8")) === holder) rmSync(aside, { force: true });
  else renameSync(aside, lockFile);
}

function readOr(otherwise, read) {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
