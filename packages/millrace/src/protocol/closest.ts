/**
 * The name most similar to `wanted`, if any is close enough. For typos, and for models that
 * misremember a tool.
 */
export function closest(wanted: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  // Up to half of the letters may differ; beyond that a suggestion misleads.
  let bestDistance = Math.max(2, Math.floor(normalize(wanted).length / 2)) + 1
  for (const name of names) {
    const distance = editDistance(normalize(wanted), normalize(name))
    if (distance < bestDistance) [best, bestDistance] = [name, distance]
  }
  return best
}

/** Models mix up `getWeather`, `get-weather` and `get_weather`. */
function normalize(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .slice(0, 64)
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substituted = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(substituted, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
