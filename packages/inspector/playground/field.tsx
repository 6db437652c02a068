import { useId } from 'preact/hooks'

export interface FieldProps {
  readonly label: string
  readonly isLabelHidden?: boolean
  readonly isJson?: boolean
  readonly value: string
  readonly placeholder?: string | undefined
  readonly problem?: string | undefined
  readonly onChange: (value: string) => void
}

const maxRows = 14

/** A text area that is as high as its text, with its problem below it. */
export function Field({ label, isLabelHidden, isJson, value, placeholder, problem, onChange }: FieldProps) {
  const id = useId()
  return (
    <div class="playground-field">
      <label for={id} class={isLabelHidden ? 'visually-hidden' : ''}>
        {label}
      </label>
      <textarea
        id={id}
        class={isJson ? 'mono' : ''}
        rows={Math.min(maxRows, Math.max(2, value.split('\n').length))}
        spellcheck={!isJson}
        placeholder={placeholder}
        value={value}
        aria-invalid={problem !== undefined}
        aria-describedby={problem && `${id}-problem`}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {problem && (
        <p class="playground-problem" id={`${id}-problem`}>
          {problem}
        </p>
      )}
    </div>
  )
}
