/** The parts of an operator's long description. */
interface DescriptionParts {
  readonly about: string;
  readonly features: readonly string[];
  /** A custom resource, as YAML. */
  readonly example: string;
  readonly notes?: string;
}

/** Returns a long description in Markdown, with headings, lists, a table, code and links, as authors of operators write it. */
export function describeOperator({ about, features, example, notes }: DescriptionParts): string {
  return `${about}

## Features

${features.map((feature) => `* **${feature.split(":")[0]}**:${feature.slice(feature.indexOf(":") + 1)}`).join("\n")}

## Get started

1. Install the operator with its default configuration.
2. Create a custom resource:

\`\`\`yaml
${example.trim()}
\`\`\`

3. Wait until condition \`Ready\` is \`True\`:

   \`kubectl wait --for=condition=Ready --timeout=5m …\`

## Supported platforms

| Kubernetes | Architecture | Status |
| ---------- | ------------ | ------ |
| 1.33 – 1.35 | amd64, arm64 | supported |
| 1.30 – 1.32 | amd64 | security fixes only |
| older | – | not supported |

${notes ?? "> Read the release notes before you upgrade to a new minor version."}

See the [documentation](https://docs.example.com) and the [issue tracker](https://github.example.com/issues).
`;
}
