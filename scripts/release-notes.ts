import { readFileSync } from 'node:fs'
import { changelogSection } from './release/changelog.ts'
import { readPackages, versionOf } from './release/workspace.ts'

// npm run release:notes: prints the section of CHANGELOG.md for the current version.
const version = versionOf(readPackages(process.cwd()))
const notes = changelogSection(readFileSync('CHANGELOG.md', 'utf8'), version)
if (!notes) throw new Error(`CHANGELOG.md has no section [${version}].`)
console.log(notes)
