import { keyLabels } from './keyboard.ts'

/** The keys of a shortcut. */
export function Keys({ keys }: { readonly keys: string }) {
  return (
    <span class="keys">
      {keyLabels(keys).map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </span>
  )
}
