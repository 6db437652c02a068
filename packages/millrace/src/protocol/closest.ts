/** The name most like `wanted`, if any is like it at all. For a model that misremembers a tool. */
export function closest(wanted: string, names: Iterable<string>): string | undefined {
  let best: string | undefined
  // Half the letters may be wrong; beyond that a suggestion misleads.
  let least = Math.max(2, Math.floor(fold(wanted).length / 2)) + 1
  for (const name of names) {
    const distance = editDistance(fold(wanted), fold(name))
    if (distance < least) [best, least] = [name, distance]
  }
  return best
}

/** `getWeather`, `get-weather` and `get_weather` are one name to a model. */
function fold(name: string): string {
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
