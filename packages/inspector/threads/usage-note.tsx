import { useSignal } from '@preact/signals'
import type { LimitsUsage } from 'millrace/client'
import { useEffect } from 'preact/hooks'
import { api } from '../api.ts'
import { number, size } from '../format.ts'

const refreshMs = 30_000

/** Shows the quotas and limits that are more than half used. */
export function UsageNote() {
  const usage = useSignal<LimitsUsage>({})
  useEffect(() => {
    const refresh = () => {
      // Older servers do not have this endpoint.
      if (!document.hidden)
        api.usage().then(
          (answer) => (usage.value = answer),
          () => {},
        )
    }
    refresh()
    const timer = setInterval(refresh, refreshMs)
    return () => clearInterval(timer)
  }, [])
  const notes = Object.entries(usage.value)
    .filter(([, { used, limit }]) => used > limit / 2)
    .map(([name, { used, limit }]) => {
      const figure = /bytes/i.test(name) ? size : number
      return `${words(name)}: ${figure(used)} of ${figure(limit)}`
    })
  return notes.length > 0 && <p class="threads-note quiet">Used: {notes.join(' · ')}</p>
}

/** `stored bytes` for `storedBytes`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
