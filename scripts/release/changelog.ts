const unreleased = '## [Unreleased]'

/** The text below a heading such as `[Unreleased]` or `[1.2.0]`; undefined if it does not exist. */
export function changelogSection(changelog: string, name: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find((text) => text.startsWith(`[${name}]`))
  return section?.slice(section.indexOf('\n') + 1).trim()
}

/** Gives the unreleased section a version and a date, below a new, empty `[Unreleased]`. */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  return changelog.replace(/^## \[Unreleased\]/m, `${unreleased}\n\n## [${version}] - ${date}`)
}
