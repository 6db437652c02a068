/** Whether a shop is open at a minute of the day, 0 to 1439. */
export function isOpen({ from, to }, minute) {
  return minute >= from && minute < to
}
