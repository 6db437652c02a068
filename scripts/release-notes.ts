import { readFileSync } from 'node:fs'
import { changelogSection } from './release/changelog.ts'
import { readPackages, versionOf } from './release/workspace.ts'

// npm run release:notes: what CHANGELOG.md says about the present version.
const version = versionOf(readPackages(process.cwd()))
const notes = changelogSection(readFileSync('CHANGELOG.md', 'utf8'), version)
if (!notes) throw new Error(`CHANGELOG.md has no section [${version}].`)
console.log(notes)
