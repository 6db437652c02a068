import type { AgentDetails } from 'millrace/client'
import { useId } from 'preact/hooks'
import type { Draft, Problems } from './draft.ts'
import { reasoningLevels } from './draft.ts'
import { Field } from './field.tsx'

export interface SettingsFormProps {
  readonly draft: Draft
  readonly details: AgentDetails | undefined
  /** The models to choose from, the default first. */
  readonly models: readonly string[]
  readonly problems: Problems
  readonly onChange: (changes: Partial<Draft>) => void
}

/** The tools that are offered, the model, and its settings. */
export function SettingsForm({ draft, details, models, problems, onChange }: SettingsFormProps) {
  const { tools, model, temperature, maxOutputTokens, reasoning } = draft
  const own = details?.settings ?? {}
  return (
    <>
      {details && details.tools.length > 0 && (
        <fieldset class="playground-tools">
          <legend>Tools</legend>
          {details.tools.map(({ name }) => (
            <label key={name}>
              <input
                type="checkbox"
                checked={tools.includes(name)}
                onChange={({ currentTarget }) =>
                  onChange({
                    tools: currentTarget.checked ? [...tools, name] : tools.filter((other) => other !== name),
                  })
                }
              />{' '}
              <code>{name}</code>
            </label>
          ))}
        </fieldset>
      )}
      <fieldset class="playground-settings">
        <legend>Model and settings</legend>
        {models.length > 0 && (
          <label>
            Model
            <select
              value={model || models[0]}
              onChange={({ currentTarget }) => onChange({ model: currentTarget.value })}
            >
              {models.map((id) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          </label>
        )}
        <TextInput
          label="Temperature"
          value={temperature}
          placeholder={placeholderOf(own.temperature)}
          problem={problems.get('temperature')}
          onChange={(value) => onChange({ temperature: value })}
        />
        <TextInput
          label="Max output tokens"
          value={maxOutputTokens}
          placeholder={placeholderOf(own.maxOutputTokens)}
          problem={problems.get('maxOutputTokens')}
          onChange={(value) => onChange({ maxOutputTokens: value })}
        />
        <label>
          Reasoning
          <select
            value={reasoning}
            onChange={({ currentTarget }) => onChange({ reasoning: currentTarget.value })}
          >
            <option value="">{own.reasoning ? `agent: ${own.reasoning}` : 'default'}</option>
            {reasoningLevels.map((level) => (
              <option key={level}>{level}</option>
            ))}
          </select>
        </label>
      </fieldset>
      <Field
        label="Other settings (JSON)"
        isJson
        value={draft.other}
        placeholder='{"topP": 0.9}'
        problem={problems.get('other')}
        onChange={(other) => onChange({ other })}
      />
    </>
  )
}

const placeholderOf = (value: number | undefined) => (value === undefined ? 'default' : `agent: ${value}`)

interface TextInputProps {
  readonly label: string
  readonly value: string
  readonly placeholder: string
  readonly problem: string | undefined
  readonly onChange: (value: string) => void
}

function TextInput({ label, value, placeholder, problem, onChange }: TextInputProps) {
  const id = useId()
  return (
    <label>
      {label}
      <input
        inputMode="decimal"
        value={value}
        placeholder={placeholder}
        aria-invalid={problem !== undefined}
        aria-describedby={problem && id}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {problem && (
        <span class="playground-problem" id={id}>
          {problem}
        </span>
      )}
    </label>
  )
}
