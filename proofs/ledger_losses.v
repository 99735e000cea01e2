(** * The losses of the gates that the ledger holds

    L(m, k) in closed form, as [gates/bounds.py] has it for rows without numeric answers or gaps (gaps:
    ledger_gap_losses.v); that these bound the ratios is the subject of laplace_gate.v, exponential_gate.v and
    two_sided_gate.v. With a share e1 for the
    threshold and a rate r for each comparison,

<<
    Laplace, general:        min{ (m+k) r,  e1 + 2 k r,  e1 + 2 m r }
    Laplace, monotonic:      max{ min(m r, e1 + k r),  min(k r, e1 + m r) }
    exponential, general:    e1 + 2 k r,   m = 0: k r
    exponential, monotonic:  e1 + k r,     m = 0: k r
>>

    and epsilon is e1 + 2 c r, or e1 + c r if monotonic. A gate is through when ABOVEs and asks without an outcome are c
    ([cutoff_through]), or when the rarer answer, counted at the most that it can be, is c ([rarer_through], with
    Laplace noise); and when as many were asked as are admitted, if that is limited.

    [metered_losses_grow]: more answers cost more. [metered_losses_are_reserved]: no ask is admitted that could take the
    cost beyond epsilon, whatever becomes of the asks without an outcome; so the theorems of ledger.v are about these.

    Beside the code: a gate that is planned for few questions has other scales, and its epsilon is not e1 + c r; it is a
    [spec] if its plan holds. *)

From mathcomp Require Import all_ssreflect ssralg ssrnum ssrint rat.
From Sparsegate Require Import ledger_gates.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma min_le2 (x y z t : rat) : x <= z -> y <= t -> Num.min x y <= Num.min z t.
Proof. by move=> xz yt; rewrite le_minr !le_minl xz yt orbT. Qed.

Lemma max_le2 (x y z t : rat) : x <= z -> y <= t -> Num.max x y <= Num.max z t.
Proof. by move=> xz yt; rewrite le_maxl !le_maxr xz yt orbT. Qed.

Section Losses.
Variables (e1 r : rat).

(** L(m, k): with e1 for a shift of the threshold, and r for a shift of one comparison. *)
Definition laplace_monotonic (m k : nat) :=
  Num.max (Num.min (m%:R * r) (e1 + k%:R * r)) (Num.min (k%:R * r) (e1 + m%:R * r)).
Definition laplace_general (m k : nat) :=
  Num.min ((m + k)%:R * r) (Num.min (e1 + (2 * k)%:R * r) (e1 + (2 * m)%:R * r)).
Definition exponential_monotonic (m k : nat) :=
  if (0 < m)%N then e1 + k%:R * r else k%:R * r.
Definition exponential_general (m k : nat) :=
  if (0 < m)%N then e1 + (2 * k)%:R * r else k%:R * r.

Hypotheses (e1_ge0 : 0 <= e1) (r_ge0 : 0 <= r).

Let times_ge0 n : 0 <= n%:R * r. Proof. by rewrite mulr_ge0 ?ler0n. Qed.
Let times_le m n : (m <= n)%N -> m%:R * r <= n%:R * r.
Proof. by move=> le; rewrite ler_wpmul2r // ler_nat. Qed.
Let more n : 0 <= e1 + n%:R * r. Proof. by rewrite addr_ge0. Qed.
Let more_le m n : (m <= n)%N -> e1 + m%:R * r <= e1 + n%:R * r.
Proof. by move=> le; rewrite ler_add2l times_le. Qed.

Lemma laplace_monotonic_grows m k m' k' : (m <= m')%N -> (k <= k')%N ->
  laplace_monotonic m k <= laplace_monotonic m' k'.
Proof.
move=> le_m le_k; apply: max_le2; apply: min_le2; do ?[exact: times_le | exact: more_le].
Qed.

Lemma laplace_general_grows m k m' k' : (m <= m')%N -> (k <= k')%N -> laplace_general m k <= laplace_general m' k'.
Proof.
move=> le_m le_k; apply: min_le2; first by apply: times_le; apply: leq_add.
by apply: min_le2; apply: more_le; rewrite leq_mul2l.
Qed.

Lemma exponential_monotonic_grows m k m' k' : (m <= m')%N -> (k <= k')%N ->
  exponential_monotonic m k <= exponential_monotonic m' k'.
Proof.
rewrite /exponential_monotonic => le_m le_k; case: ltnP => [pos|_]; first by rewrite (leq_trans pos le_m) more_le.
by case: ifP => _; rewrite ?times_le // (le_trans (times_le le_k)) // ler_addr.
Qed.

Lemma exponential_general_grows m k m' k' : (m <= m')%N -> (k <= k')%N ->
  exponential_general m k <= exponential_general m' k'.
Proof.
rewrite /exponential_general => le_m le_k.
case: ltnP => [pos|_]; first by rewrite (leq_trans pos le_m) more_le // leq_mul2l.
case: ifP => _; last exact: times_le.
by apply: le_trans (times_le le_k) _; rewrite -[X in X <= _]add0r ler_add // times_le // leq_pmull.
Qed.

Lemma laplace_monotonic_le m k : laplace_monotonic m k <= e1 + (minn m k)%:R * r.
Proof.
have small n : n%:R * r <= e1 + n%:R * r by rewrite ler_addr.
rewrite le_maxl !le_minl; by case: (leqP m k) => [le|/ltnW le]; rewrite ?small ?lexx ?orbT.
Qed.

Lemma laplace_general_le m k : laplace_general m k <= e1 + (2 * minn m k)%:R * r.
Proof. by rewrite !le_minl; case: (leqP m k) => _; rewrite lexx ?orbT. Qed.

Lemma exponential_monotonic_le m k : exponential_monotonic m k <= e1 + k%:R * r.
Proof. by rewrite /exponential_monotonic; case: ifP; rewrite // ler_addr. Qed.

Lemma exponential_general_le m k : exponential_general m k <= e1 + (2 * k)%:R * r.
Proof.
rewrite /exponential_general; case: ifP => // _.
by rewrite -[X in X <= _]add0r ler_add // times_le // leq_pmull.
Qed.

End Losses.

(** ** Gates that are through after c ABOVE, or after c of the rarer answer *)

Section Closing.
Variables (eps : rat) (L : nat -> nat -> rat) (c : nat) (most : option nat).
Hypotheses (eps_ge0 : 0 <= eps) (L_ge0 : forall m k, 0 <= L m k) (L_start : L 0 0 = 0).

Definition enough n := if most is Some q then (q <= n)%N else false.
Definition cutoff_through b a u := (c <= a + u)%N || enough (b + a + u).
Definition rarer_through b a u := (c <= minn (b + a + u)./2 (minn (b + u) (a + u)))%N || enough (b + a + u).

Lemma cutoff_admitted : (forall m k, (k <= c)%N -> L m k <= eps) ->
  forall b a u i, ~~ cutoff_through b a u -> (i <= u.+1)%N -> L (b + i) (a + u.+1 - i) <= eps.
Proof.
move=> bounded b a u i; rewrite negb_or -ltnNge => /andP[lt _] le_i; apply: bounded.
by rewrite leq_subLR (leq_trans _ (leq_addl _ _)) // addnS.
Qed.

Lemma rarer_admitted : (forall m k, (minn m k <= c)%N -> L m k <= eps) ->
  forall b a u i, ~~ rarer_through b a u -> (i <= u.+1)%N -> L (b + i) (a + u.+1 - i) <= eps.
Proof.
move=> bounded b a u i; rewrite negb_or -ltnNge !gtn_min => /andP[lt _] le_i; apply: bounded.
rewrite geq_min; case/or3P: lt => lt.
- case: (leqP (b + i) c) => //= gt; rewrite leq_subLR -(leq_add2l b) !addnA addnS.
  by rewrite ltnNge geq_half_double -ltnNge in lt; apply: leq_trans lt _; rewrite -addnn leq_add2r ltnW.
- by apply/orP; left; rewrite (leq_trans _ lt) // -addnS leq_add2l.
- by apply/orP; right; rewrite (leq_trans (leq_subr _ _)) // addnS.
Qed.

Lemma cutoff_void_below b a u : cutoff_through b.+1 a u -> cutoff_through b a u.+1.
Proof. by rewrite /cutoff_through !addnS !addSn => /orP[/leqW -> | ->]; rewrite ?orbT. Qed.

Lemma cutoff_void_above b a u : cutoff_through b a.+1 u -> cutoff_through b a u.+1.
Proof. by rewrite /cutoff_through !addnS !addSn. Qed.

Lemma rarer_void_below b a u : rarer_through b.+1 a u -> rarer_through b a u.+1.
Proof.
rewrite /rarer_through !addnS !addSn => /orP[|->]; last by rewrite orbT.
by rewrite !leq_min => /and3P[-> -> /leqW ->].
Qed.

Lemma rarer_void_above b a u : rarer_through b a.+1 u -> rarer_through b a u.+1.
Proof.
rewrite /rarer_through !addnS !addSn => /orP[|->]; last by rewrite orbT.
by rewrite !leq_min => /and3P[-> /leqW -> ->].
Qed.

Definition cutoff_gate bounded := Spec eps_ge0 L_ge0 L_start (cutoff_admitted bounded)
  cutoff_void_below cutoff_void_above.
Definition two_sided_law bounded := Spec eps_ge0 L_ge0 L_start (rarer_admitted bounded)
  rarer_void_below rarer_void_above.

End Closing.

Section Gates.
Variables (e1 r : rat) (c : nat) (most : option nat).
Hypotheses (e1_ge0 : 0 <= e1) (r_ge0 : 0 <= r).

Definition eps_monotonic := e1 + c%:R * r.
Definition eps_general := e1 + (2 * c)%:R * r.

Let eps1_ge0 : 0 <= eps_monotonic. Proof. by rewrite addr_ge0 // mulr_ge0 ?ler0n. Qed.
Let eps2_ge0 : 0 <= eps_general. Proof. by rewrite addr_ge0 // mulr_ge0 ?ler0n. Qed.
Let grown m k L : (forall m k m' k', (m <= m')%N -> (k <= k')%N -> L m k <= L m' k') -> L 0%N 0%N = 0 :> rat ->
  0 <= L m k.
Proof. by move=> grows <-; apply: grows. Qed.
Let more n : (n <= c)%N -> e1 + n%:R * r <= eps_monotonic.
Proof. by move=> le; rewrite ler_add2l ler_wpmul2r // ler_nat. Qed.
Let more2 n : (n <= c)%N -> e1 + (2 * n)%:R * r <= eps_general.
Proof. by move=> le; rewrite ler_add2l ler_wpmul2r // ler_nat leq_mul2l. Qed.

Lemma laplace_monotonic0 : laplace_monotonic e1 r 0 0 = 0.
Proof. by rewrite /laplace_monotonic !mul0r addr0 min_l // maxxx. Qed.

Lemma laplace_general0 : laplace_general e1 r 0 0 = 0.
Proof. by rewrite /laplace_general !muln0 !mul0r addr0 minxx min_l. Qed.

Lemma exponential_monotonic0 : exponential_monotonic e1 r 0 0 = 0.
Proof. by rewrite /exponential_monotonic mul0r. Qed.

Lemma exponential_general0 : exponential_general e1 r 0 0 = 0.
Proof. by rewrite /exponential_general mul0r. Qed.

Lemma laplace_monotonic_rarer m k : (minn m k <= c)%N -> laplace_monotonic e1 r m k <= eps_monotonic.
Proof. by move=> /more; apply: le_trans; apply: laplace_monotonic_le. Qed.

Lemma laplace_general_rarer m k : (minn m k <= c)%N -> laplace_general e1 r m k <= eps_general.
Proof. by move=> /more2; apply: le_trans; apply: laplace_general_le. Qed.

Lemma laplace_monotonic_cutoff m k : (k <= c)%N -> laplace_monotonic e1 r m k <= eps_monotonic.
Proof. by move=> le; apply: laplace_monotonic_rarer; rewrite geq_min le orbT. Qed.

Lemma laplace_general_cutoff m k : (k <= c)%N -> laplace_general e1 r m k <= eps_general.
Proof. by move=> le; apply: laplace_general_rarer; rewrite geq_min le orbT. Qed.

Lemma exponential_monotonic_cutoff m k : (k <= c)%N -> exponential_monotonic e1 r m k <= eps_monotonic.
Proof. by move=> /more; apply: le_trans; apply: exponential_monotonic_le. Qed.

Lemma exponential_general_cutoff m k : (k <= c)%N -> exponential_general e1 r m k <= eps_general.
Proof. by move=> /more2; apply: le_trans; apply: exponential_general_le. Qed.

(** The gates of the code. The service's are monotonic. *)

Definition laplace_monotonic_gate := @cutoff_gate eps_monotonic (laplace_monotonic e1 r) c most eps1_ge0
  (fun m k => grown m k (@laplace_monotonic_grows e1 r r_ge0) laplace_monotonic0) laplace_monotonic0
  laplace_monotonic_cutoff.

Definition laplace_general_gate := @cutoff_gate eps_general (laplace_general e1 r) c most eps2_ge0
  (fun m k => grown m k (@laplace_general_grows e1 r r_ge0) laplace_general0) laplace_general0
  laplace_general_cutoff.

Definition exponential_monotonic_gate := @cutoff_gate eps_monotonic (exponential_monotonic e1 r) c most eps1_ge0
  (fun m k => grown m k (@exponential_monotonic_grows e1 r e1_ge0 r_ge0) exponential_monotonic0) exponential_monotonic0
  exponential_monotonic_cutoff.

Definition exponential_general_gate := @cutoff_gate eps_general (exponential_general e1 r) c most eps2_ge0
  (fun m k => grown m k (@exponential_general_grows e1 r e1_ge0 r_ge0) exponential_general0) exponential_general0
  exponential_general_cutoff.

Definition two_sided_monotonic_gate := @two_sided_law eps_monotonic (laplace_monotonic e1 r) c most eps1_ge0
  (fun m k => grown m k (@laplace_monotonic_grows e1 r r_ge0) laplace_monotonic0) laplace_monotonic0
  laplace_monotonic_rarer.

Definition two_sided_general_gate := @two_sided_law eps_general (laplace_general e1 r) c most eps2_ge0
  (fun m k => grown m k (@laplace_general_grows e1 r r_ge0) laplace_general0) laplace_general0
  laplace_general_rarer.

Definition gates_of_the_code := [:: laplace_monotonic_gate; laplace_general_gate; exponential_monotonic_gate;
  exponential_general_gate; two_sided_monotonic_gate; two_sided_general_gate].

(** More answers cost more. *)
Theorem metered_losses_grow n m k m' k' : (n < size gates_of_the_code)%N -> (m <= m')%N -> (k <= k')%N ->
  let sp := nth laplace_monotonic_gate gates_of_the_code n in loss sp m k <= loss sp m' k'.
Proof.
case: n => [|[|[|[|[|[|//]]]]]] _ le_m le_k /=.
- exact: laplace_monotonic_grows.
- exact: laplace_general_grows.
- exact: exponential_monotonic_grows.
- exact: exponential_general_grows.
- exact: laplace_monotonic_grows.
- exact: laplace_general_grows.
Qed.

(** No ask is admitted that could take the cost beyond the charge: the hypothesis of the ledger's theorems holds. *)
Theorem metered_losses_are_reserved n below above lost i : (n < size gates_of_the_code)%N ->
  let sp := nth laplace_monotonic_gate gates_of_the_code n in
  ~~ through sp below above lost -> (i <= lost.+1)%N -> loss sp (below + i) (above + lost.+1 - i) <= epsilon sp.
Proof. by move=> _ sp; apply: admitted_cost. Qed.

End Gates.
