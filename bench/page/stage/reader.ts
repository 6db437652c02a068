import type { Reader } from './contract.ts'
import { plainText } from './plain-text.ts'
import { box } from './player.ts'

// The minimum a page does with a thread: read and follow it.

const made: Reader = {
  async read(pages) {
    let count = 0
    for (const page of pages) {
      const response = await fetch(page, { headers: { accept: 'application/json' } })
      if (!response.ok) throw new Error(`${page} returned ${response.status}`)
      const { entries = [] } = (await response.json()) as { entries?: unknown[] }
      count += entries.length
    }
    return count
  },
  follow(events) {
    const write = plainText(box)
    let isDue = false
    const source = new EventSource(events)
    source.onmessage = ({ data }) => {
      const { event } = JSON.parse(data)
      if (event.type === 'text') write(event.text)
      if (isDue) return
      isDue = true
      requestAnimationFrame(() => {
        isDue = false
        box.scrollTop = box.scrollHeight
      })
    }
  },
}
Object.assign(window, made)
