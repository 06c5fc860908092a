import { Form, TextArea, Title, ToggleGroup, ToggleGroupItem } from "@patternfly/react-core";
import { type ReactElement, useState } from "react";
import { CONFIG_MAX, type InstallDraft, type InstallForm } from "../../../../pkg/consoleapi/install.ts";
import { Alert } from "../../components/Alert.tsx";
import { ObjectMembers } from "../../components/schemaForm/SchemaField.tsx";
import { classifyField, type FieldSchema, isRecord } from "../../components/schemaForm/schema.ts";
import { installText as t } from "../../text/install.ts";

/** The configuration of the bundle: a form from its schema, or YAML. */
export function ConfigEditor({
  schema,
  draft,
  onChange,
}: {
  readonly schema: FieldSchema | undefined;
  readonly draft: InstallDraft | undefined;
  readonly onChange: (config: NonNullable<InstallForm["config"]>) => void;
}): ReactElement {
  const [mode, setMode] = useState<"form" | "yaml">("form");
  const [value, setValue] = useState<Record<string, unknown>>({});
  const [yaml, setYaml] = useState("");
  const canUseForm = draft?.config.value !== undefined;
  const showForm = (): void => {
    setValue(draft?.config.value ?? {});
    setMode("form");
  };
  const showYaml = (): void => {
    setYaml(draft?.config.yaml ?? "");
    setMode("yaml");
  };
  return (
    <section className="olm-package-section" aria-labelledby="config-title">
      <div className="olm-section-head">
        <Title headingLevel="h2" size="lg" id="config-title">
          {t.config}
        </Title>
        <ToggleGroup isCompact aria-label={t.config}>
          <ToggleGroupItem
            buttonId="config-form"
            text={t.asForm}
            isSelected={mode === "form"}
            isDisabled={!canUseForm}
            onChange={showForm}
          />
          <ToggleGroupItem buttonId="config-yaml" text={t.asYaml} isSelected={mode === "yaml"} onChange={showYaml} />
        </ToggleGroup>
      </div>
      <p className="olm-subtle">{t.configIntro}</p>
      <Errors errors={draft?.config.errors ?? []} />
      {mode === "yaml" ? (
        <TextArea
          aria-label={t.configYaml}
          className="olm-config-yaml"
          value={yaml}
          rows={12}
          maxLength={CONFIG_MAX}
          spellCheck={false}
          resizeOrientation="vertical"
          onChange={(_event, next) => {
            setYaml(next);
            onChange({ yaml: next });
          }}
        />
      ) : (
        <ConfigForm
          schema={schema}
          value={value}
          onChange={(next) => {
            setValue(next);
            onChange({ value: next });
          }}
        />
      )}
    </section>
  );
}

function ConfigForm({
  schema,
  value,
  onChange,
}: {
  readonly schema: FieldSchema | undefined;
  readonly value: Record<string, unknown>;
  readonly onChange: (value: Record<string, unknown>) => void;
}): ReactElement {
  const field = schema && classifyField(schema, schema);
  if (!schema || field?.kind !== "object") return <p className="olm-subtle">{t.noSchema}</p>;
  return (
    <Form onSubmit={(event) => event.preventDefault()}>
      <ObjectMembers
        properties={field.properties}
        required={field.required}
        root={schema}
        value={value}
        onChange={(next) => onChange(isRecord(next) ? next : {})}
        depth={0}
      />
    </Form>
  );
}

function Errors({ errors }: { readonly errors: InstallDraft["config"]["errors"] }): ReactElement | null {
  if (errors.length === 0) return null;
  return (
    <Alert status="danger" component="p" title={t.configErrors}>
      <ul className="olm-rows">
        {errors.map(({ path, message }) => (
          <li key={`${path} ${message}`} className="olm-break">
            <code>{path === "" ? t.wholeConfig : path}</code>: <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
    </Alert>
  );
}
