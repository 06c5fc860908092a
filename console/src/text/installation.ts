/** Texts of the page about the installation of OLM v1. */
export const installationText = {
  title: "Installation",
  intro: "Checks of the servers, their certificates, permissions and policies. The command olmv1 doctor prints the same.",
  status: { ok: "OK", warning: "Warning", problem: "Problem", unknown: "Unknown" },
  summary: (problems: number, warnings: number, unknown: number) =>
    [
      `${problems} ${problems === 1 ? "problem" : "problems"}`,
      `${warnings} ${warnings === 1 ? "warning" : "warnings"}`,
      ...(unknown === 0 ? [] : [`${unknown} ${unknown === 1 ? "check" : "checks"} could not run`]),
    ].join(", "),
  checked: "Checked",
  again: "Check again",
  passed: (count: number) => `${count} ${count === 1 ? "check" : "checks"} passed`,
} as const;
