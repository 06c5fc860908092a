import { Button, ExpandableSection, FormGroup, FormSelect, FormSelectOption, TextInput } from "@patternfly/react-core";
import { type ReactElement, useId, useState } from "react";
import { schemaFormText as t } from "../../text/schemaForm.ts";
import { FieldHint } from "../FieldHint.tsx";
import { MapField } from "./MapField.tsx";
import { classifyField, describeField, type FieldSchema, isRecord, withFieldValue } from "./schema.ts";

/** Objects that are nested deeper are edited as YAML. */
const MAX_DEPTH = 5;

/** A field of a form that a JSON Schema describes. */
interface FieldProps {
  readonly label: string;
  readonly schema: FieldSchema;
  /** The schema that references point into. */
  readonly root: FieldSchema;
  readonly value: unknown;
  /** Called with undefined to remove the value. */
  readonly onChange: (value: unknown) => void;
  readonly isRequired: boolean;
  readonly depth: number;
}

/** Edits a value according to its schema. */
function SchemaField(props: FieldProps): ReactElement {
  const { label, schema, root, value, onChange, isRequired, depth } = props;
  const id = useId();
  const field = classifyField(schema, root);
  const description = describeField(schema, root);
  if (field.kind === "object" && depth < MAX_DEPTH)
    return <ObjectField {...props} properties={field.properties} required={field.required} />;
  if (field.kind === "list" && depth < MAX_DEPTH) return <ListField {...props} items={field.items} />;
  if (field.kind === "map" && depth < MAX_DEPTH) {
    return <MapField label={label} description={description} value={value} onChange={onChange} />;
  }
  if (field.kind === "variants" && depth < MAX_DEPTH) return <VariantField {...props} variants={field.variants} />;
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  return (
    <FormGroup label={<bdi>{label}</bdi>} fieldId={id} isRequired={isRequired}>
      {field.kind === "text" && (
        <>
          <TextInput id={id} value={text} list={`${id}-list`} onChange={(_event, next) => onChange(next === "" ? undefined : next)} />
          {field.suggestions.length > 0 && (
            <datalist id={`${id}-list`}>
              {field.suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
      {field.kind === "number" && (
        <TextInput id={id} type="number" value={text} onChange={(_event, next) => onChange(next === "" ? undefined : Number(next))} />
      )}
      {field.kind === "boolean" && (
        <FormSelect
          id={id}
          value={typeof value === "boolean" ? String(value) : ""}
          onChange={(_event, next) => onChange(next === "" ? undefined : next === "true")}
        >
          <FormSelectOption value="" label={t.notSet} />
          <FormSelectOption value="true" label={t.yes} />
          <FormSelectOption value="false" label={t.no} />
        </FormSelect>
      )}
      {field.kind === "choice" && (
        <FormSelect id={id} value={text} onChange={(_event, next) => onChange(next === "" ? undefined : next)}>
          <FormSelectOption value="" label={t.notSet} />
          {field.values.map((one) => (
            <FormSelectOption key={one} value={one} label={one} />
          ))}
        </FormSelect>
      )}
      {!["text", "number", "boolean", "choice"].includes(field.kind) && <p className="olm-subtle">{t.onlyYaml}</p>}
      {description !== undefined && <FieldHint text={description} />}
    </FormGroup>
  );
}

function ObjectField({
  label,
  schema,
  root,
  value,
  onChange,
  depth,
  properties,
  required,
}: FieldProps & {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
}): ReactElement {
  const [isExpanded, setExpanded] = useState(isRecord(value));
  const description = describeField(schema, root);
  return (
    <ExpandableSection
      className="olm-schema-group"
      toggleText={label}
      isExpanded={isExpanded}
      isIndented
      onToggle={(_event, is) => setExpanded(is)}
    >
      {description !== undefined && <p className="olm-subtle olm-break">{description}</p>}
      {isExpanded && (
        <ObjectMembers properties={properties} required={required} root={root} value={value} onChange={onChange} depth={depth + 1} />
      )}
    </ExpandableSection>
  );
}

/** The fields of an object. */
export function ObjectMembers({
  properties,
  required,
  root,
  value,
  onChange,
  depth,
}: Pick<FieldProps, "root" | "value" | "onChange" | "depth"> & {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
}): ReactElement {
  return (
    <div className="olm-schema-fields">
      {Object.entries(properties).map(([name, schema]) => (
        <SchemaField
          key={name}
          label={name}
          schema={schema}
          root={root}
          value={isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined}
          onChange={(next) => onChange(withFieldValue(value, name, next))}
          isRequired={required.includes(name)}
          depth={depth}
        />
      ))}
    </div>
  );
}

function ListField({ label, schema, root, value, onChange, depth, items }: FieldProps & { readonly items: FieldSchema }): ReactElement {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [];
  const description = describeField(schema, root);
  const change = (at: number, next: unknown): void =>
    onChange(entries.map((entry, i) => (i === at ? (next ?? emptyValue(items, root)) : entry)));
  const remove = (at: number): void => {
    const rest = entries.filter((_, i) => i !== at);
    onChange(rest.length === 0 ? undefined : rest);
  };
  return (
    <fieldset className="olm-schema-list">
      <legend>{label}</legend>
      {description !== undefined && <p className="olm-subtle olm-break">{description}</p>}
      {entries.map((entry, i) => (
        <div key={i} className="olm-schema-entry">
          <SchemaField
            label={t.entry(label, i + 1)}
            schema={items}
            root={root}
            value={entry}
            onChange={(next) => change(i, next)}
            isRequired={false}
            depth={depth + 1}
          />
          <Button variant="link" isInline onClick={() => remove(i)}>
            {t.remove(t.entry(label, i + 1))}
          </Button>
        </div>
      ))}
      <Button variant="link" isInline onClick={() => onChange([...entries, emptyValue(items, root)])}>
        {t.add(label)}
      </Button>
    </fieldset>
  );
}

/** Returns the value of a new entry of a list. */
function emptyValue(items: FieldSchema, root: FieldSchema): unknown {
  const { kind } = classifyField(items, root);
  if (kind === "object" || kind === "map") return {};
  if (kind === "list") return [];
  return kind === "number" ? 0 : kind === "boolean" ? false : "";
}

function VariantField(props: FieldProps & { readonly variants: readonly FieldSchema[] }): ReactElement {
  const { label, variants, value, onChange, depth } = props;
  const [chosen, setChosen] = useState(0);
  const id = useId();
  return (
    <div className="olm-schema-variants">
      <FormGroup label={<bdi>{label}</bdi>} fieldId={id}>
        <FormSelect
          id={id}
          value={String(chosen)}
          onChange={(_event, next) => {
            setChosen(Number(next));
            onChange(undefined);
          }}
        >
          {variants.map((variant, i) => (
            <FormSelectOption key={i} value={String(i)} label={t.variant(i + 1, describeVariant(variant, props.root))} />
          ))}
        </FormSelect>
      </FormGroup>
      <SchemaField
        key={chosen}
        label={label}
        schema={variants[chosen] ?? {}}
        root={props.root}
        value={value}
        onChange={onChange}
        isRequired={false}
        depth={depth + 1}
      />
    </div>
  );
}

function describeVariant(variant: FieldSchema, root: FieldSchema): string {
  return t.kinds[classifyField(variant, root).kind];
}
