import type { Figure } from '../works/work.ts'

/** Three digits that count, and no more. */
export function number(value: number): string {
  const size = Math.abs(value)
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const withUnit = (value: number, unit: Figure['unit']) =>
  unit === '×' ? `${number(value)}×` : unit === '' ? number(value) : `${number(value)} ${unit}`

export const times = (ratio: number) => `${number(ratio)}×`
